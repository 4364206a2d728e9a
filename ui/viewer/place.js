// Where a violated invariant is on the stage.

import { brokenCell } from './verdict.js';

/** Where the stage shows a lane's first violation: [step, row, cell]. */
export function placeOf({ fold }, { lane, first }) {
  const index = fold.lanes[lane].frames.find(({ step }) => step === first.step)?.fed[first.row]?.owner[first.slot] ?? -1;
  const cell = brokenCell(fold, lane, first.row, first) ?? (index >= 0 ? { lane, row: first.row, index } : null);
  return [first.step, first.row, cell];
}
