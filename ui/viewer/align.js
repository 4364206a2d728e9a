// A row of a lane beside the same row decoded alone, token by token. A pure function of the folded trace.
//
//   alone   She  drinks  coffee  in  ...      whole: before anything broke   torn: after that, still right
//   BSP     She  drinks  (tea)   in  ...      wrong (or tie): the first difference   later: nothing to compare any more

import { births, firstViolation, firstWrong, ribbonOf } from './gaps.js';

/** {lane, row, verdict, pairs, wrong, violation, torn, gaps, reference, end} of one row.
 *  pairs: {generated, index, expected, actual, state, born}; an id is undefined where that side has no such token. */
export function alignRow(fold, lane, row, left) {
  const state = fold.lanes[lane]?.rows[row];
  if (!state) return null;
  const own = generatedOf(state);
  const wrong = firstWrong(fold, lane, row);
  const violation = firstViolation(fold, lane, row);
  const reference = referenceOf(fold, lane, row, left, own, wrong);
  const born = births(fold.lanes[lane], row);
  const tornFrom = firstTorn(fold, lane, row, violation, born);
  const length = Math.max(own.length, reference.ids.length);
  const pairs = Array.from({ length }, (_, n) => ({
    generated: n, index: state.prompt + n, expected: reference.ids[n], actual: own[n], born: born[n],
    state: stateOf(n, { wrong, tornFrom, judged: state.compare }),
  }));
  return {
    lane, row, verdict: state.compare?.verdict ?? null, checked: state.compare?.checked, pairs, wrong, violation,
    reference: reference.lane, torn: pairs.filter((pair) => pair.state === 'torn').length,
    gaps: gapsAt(fold, lane, row, wrong),
  };
}

/** The tokens that count as the row's output. */
function generatedOf(state) {
  const ids = state.ids.slice(state.prompt);
  return state.final >= 0 ? ids.slice(0, state.final) : ids;
}

/** The row alone: a lane that equals it knows all of it; else the row's own tokens up to the first wrong one know a part. */
function referenceOf(fold, lane, row, left, own, wrong) {
  const equal = [left, ...Object.keys(fold.lanes)].find((name) => fold.lanes[name]?.rows[row]?.compare?.verdict === 'equal');
  if (equal) return { lane: equal, ids: generatedOf(fold.lanes[equal].rows[row]) };
  if (!wrong) return { lane: null, ids: [] };
  return { lane: null, ids: [...own.slice(0, wrong.generated), wrong.expected] };
}

/** The first generated token that was chosen by a forward which heard the damage, or Infinity. */
function firstTorn(fold, lane, row, violation, born) {
  if (!violation) return Infinity;
  const frame = fold.lanes[lane].frames.find((found) => found.violations.some((v) => v.row === row));
  const owner = frame.fed[row]?.owner[violation.slot] ?? -1;
  const prompt = fold.lanes[lane].rows[row].prompt;
  const found = born.findIndex((step, n) => step >= violation.step && (owner < 0 || prompt + n > owner));
  return found < 0 ? Infinity : found;
}

function stateOf(n, { wrong, tornFrom, judged }) {
  if (wrong && n === wrong.generated) return wrong.verdict === 'rounding' ? 'tie' : 'wrong';
  if (wrong && n > wrong.generated) return 'later';
  if (!judged) return 'unknown';
  return n >= tornFrom ? 'torn' : 'whole';
}

/** The gaps that the query heard which chose the first wrong token: how many, and their sum. */
function gapsAt(fold, lane, row, wrong) {
  const gaps = wrong ? ribbonOf(fold, lane, row, wrong.step)?.gaps.filter((gap) => gap.before < wrong.index) ?? [] : [];
  return { n: gaps.length, sum: gaps.reduce((sum, gap) => sum + gap.size, 0) };
}
