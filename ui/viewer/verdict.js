// A row against the same row decoded alone, in words. The verdict comes from the trace's compare events only.

import { firstGap, firstViolation, firstWrong } from './gaps.js';
import { t } from './strings.js';

/** {state: equal | rounding | bug | checking | none, text} of one lane's row. */
export function verdictOf(fold, lane, row) {
  const state = fold?.lanes[lane]?.rows[row];
  if (!state) return { state: 'none', text: t('noLane') };
  const compare = state.compare;
  if (!compare) return fold.status === 'running' ? { state: 'checking', text: t('checking') } : { state: 'none', text: t('notCompared') };
  if (compare.verdict === 'equal') return { state: 'equal', text: t(state.done === 'stopped' ? 'equalSoFar' : 'equal', { n: compare.checked }) };
  const n = (compare.index ?? compare.checked) + 1;
  if (compare.verdict === 'rounding') return { state: 'rounding', text: t('rounding', { n }) };
  return { state: 'bug', text: t(state.kinds.length < n ? 'endsEarly' : 'differs', { n }) };
}

/** Whether an open question keeps back how the rows came out; one that asks why they did so keeps back the reason alone. */
export const keptBack = ({ guessing }) => Boolean(guessing) && guessing !== 'why';

/** How many rows of a lane equal the row run alone; `waiting` while some verdict is out. */
export function countEqual(fold, lane) {
  const rows = Object.values(fold?.lanes[lane]?.rows ?? {});
  const count = (verdict) => rows.filter((row) => row.compare?.verdict === verdict).length;
  return { rows: rows.length, equal: count('equal'), ties: count('rounding'), waiting: rows.some((row) => !row.compare) };
}

/** What broke first in a wrong row: {first, text, healed}, or null. It is called the cause only when the lane that
 *  repairs nothing but the positions equals the reference. */
export function firstBroken(fold, lane, row) {
  const wrong = firstWrong(fold, lane, row);
  const broken = wrong && firstViolation(fold, lane, row);
  if (!broken) return null;
  const healed = broken.invariant === 'contiguity' && fold.lanes[`${lane}_repaired`]?.rows[row]?.compare?.verdict === 'equal';
  const values = { what: t(`invariant.${broken.invariant}`) ?? broken.invariant, step: broken.step, fed: broken.invariant === 'contiguity' ? t('gapFed') : '' };
  return { first: broken, text: t(healed ? 'cause' : 'firstBroken', values), healed };
}

/** The token behind the first tear, where that is what broke; a cell {lane, row, index} or null. */
export function brokenCell(fold, lane, row, { invariant }) {
  const gap = invariant === 'contiguity' ? firstGap(fold, lane, row) : null;
  return gap && { lane, row, index: gap.index };
}
