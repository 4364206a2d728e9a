// The headline: computed from the trace, never written by hand.

import { countEqual } from './verdict.js';
import { t, laneLong } from './strings.js';

/** The sentences of the h1. */
export function claim(state, phone = false) {
  const { fold, left, right } = state;
  if (!fold?.header) return [t('claimNone')];
  const lanes = [...new Set([left, right])].map((lane, n) => laneClaim(fold, lane, n ? 'claimLaneShort' : phone ? 'claimPhone' : 'claimLane'));
  return phone ? lanes : [t('claim'), ...lanes];
}

function laneClaim(fold, lane, key) {
  const { rows, equal, ties, waiting } = countEqual(fold, lane);
  const name = laneLong(lane);
  if (waiting) return t('claimWait', { lane: name });
  if (ties) return t('claimTie', { lane: name, equal, rows, ties });
  return t(key, { lane: name, equal, rows });
}

/** Writes the claim; a sentence stays on one line where it can. */
export function drawClaim(node, state, phone) {
  const spans = claim(state, phone).flatMap((text) => [Object.assign(document.createElement('span'), { textContent: text }), ' ']);
  node.replaceChildren(...spans);
}
