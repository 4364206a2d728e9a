// What nobody needs in the first second, loaded after it: which lanes, a dropped trace, the bet on a fault, the
// microscope, notes, the export, what if.

import { mountDrop } from './drop.js';
import { mountExport } from './export.js';
import { mountLanes } from './lanes.js';
import { mountMicroscope } from './microscope.js';
import { mountNote } from './note.js';
import { mountPredict } from './predict.js';
import { mountWhatIf } from './what_if.js';

/** `act` = {show(result, link), jump(step, row, cell, lane), open(link)}. Returns {drop, micro, note, saver}. */
export function mountTools(at, store, source, page, act) {
  mountLanes(at, store);
  const drop = mountDrop(at, store, page, act);
  mountWhatIf(at, store, page, act.open);
  mountPredict(at, store, page, act); // after it: its bet takes the focus
  return { drop, micro: mountMicroscope(at, store), note: mountNote(at, store, act), saver: mountExport(at, store, source, page) };
}
