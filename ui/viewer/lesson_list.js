// The chapters, in order, and which of them a page can offer.

import row from './lesson_row.js';
import cleanup from './lesson_cleanup.js';
import rectangle from './lesson_rectangle.js';
import crop from './lesson_crop.js';
import shortcut from './lesson_shortcut.js';
import defect from './lesson_defect.js';
import realign from './lesson_realign.js';
import equal from './lesson_equal.js';

export const CHAPTERS = [row, cleanup, rectangle, crop, shortcut, defect, realign, equal];

/** The chapters whose recorded run is here; of the page's own run also: that it shows what they need. */
export async function offered(page, load) {
  const names = (page.traces ?? []).map((trace) => trace.name ?? trace);
  const hero = await load('hero').catch(() => null);
  return CHAPTERS.filter(({ trace, facts }) => (trace === 'hero' ? hero && facts(hero) : names.includes(trace)));
}
