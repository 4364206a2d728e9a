// The first wrong token on the scales: the best two of both sides there, and whether rounding could explain it.

import { firstWrong } from './gaps.js';
import { bornAt, topTwo } from './born.js';

/** {sides, logits, apart, noise, rounding} at the first wrong token; null without one. `reference`: a lane that equals the
 *  row alone. A side: {side, lane, best: [{id, logit}, {id, logit}], lead, from} with the event and field of its numbers. */
export function weigh(fold, lane, row, reference) {
  const wrong = firstWrong(fold, lane, row);
  if (!wrong) return null;
  const { logits, noise, verdict } = fold.lanes[lane].rows[row].compare;
  const sides = [];
  if (logits) sides.push(alone(wrong, logits.reference));
  if (reference) sides.push(top(fold, reference, row, wrong.generated));
  sides.push(top(fold, lane, row, wrong.generated));
  const [ref, own] = [logits?.reference, logits?.lane];
  return {
    sides: sides.filter(Boolean), noise, rounding: verdict === 'rounding',
    logits,
    apart: logits ? Math.max(...ref.map((value, n) => Math.abs(value - own[n]))) : null,
  };
}

/** The certifying forward knows the logits of exactly these two tokens: what it chose, and what the lane chose. */
function alone({ expected, actual }, [a, b]) {
  return side('alone', null, [{ id: expected, logit: a }, { id: actual, logit: b }], 'compare.logits.reference');
}

function top(fold, lane, row, generated) {
  const at = bornAt(fold.lanes[lane], row, generated);
  const best = at && topTwo(at);
  return best && side('lane', lane, best, `verify.choice[${at.i}][${at.j}], verify.top2[${at.i}][${at.j}]`, at.frame.step);
}

function side(kind, lane, best, from, step) {
  return { side: kind, lane, best, lead: best[0].logit - best[1].logit, from, step };
}
