// The chapters, in order.

import row from './lesson_row.js';
import cleanup from './lesson_cleanup.js';
import rectangle from './lesson_rectangle.js';
import crop from './lesson_crop.js';
import shortcut from './lesson_shortcut.js';
import defect from './lesson_defect.js';
import realign from './lesson_realign.js';
import equal from './lesson_equal.js';

export const CHAPTERS = [row, cleanup, rectangle, crop, shortcut, defect, realign, equal];
