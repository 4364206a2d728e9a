// The headline: computed from the trace, never written by hand.

import { countEqual, keptBack } from './verdict.js';
import { t, tn, laneLong } from './strings.js';
import { unchanged } from './unchanged.js';

/** The line below the headline: what the two lanes are about. */
export function gist({ fold, source, left, right }) {
  if (source.kind === 'file') return t('drop.gist');
  const methods = [left, right].map((lane) => fold?.lanes[lane]?.config.method);
  if (!fold || methods.join() === 'eqspec,bsp') return t(right?.endsWith('_repaired') ? 'gistRepaired' : 'gist');
  const each = [...new Set(methods)].map((method) => t(`method.${method}`)).filter((text) => typeof text === 'string');
  return each.join(' ') || t('gistOther');
}

/** The sentences of the h1. */
export function claim(state, phone = false) {
  const { fold, left, right, source } = state;
  if (!fold?.header) return [t('claimNone')];
  if (keptBack(state)) return phone ? [t('claimHidden')] : [t('claim'), t('claimHidden')];
  if (source.kind === 'file') return [t('drop.claim', { name: source.title }), ...[...new Set([left, right])].map((lane) => laneChecked(fold, lane))];
  const lanes = [...new Set([left, right])].map((lane, n) => laneClaim(fold, lane, n ? 'claimLaneShort' : phone ? 'claimPhone' : 'claimLane'));
  const first = fold.status === 'stopped' ? [t('claimStopped')] : phone ? [] : [t('claim')];
  return [...first, ...lanes];
}

/** What the check of a dropped file found in a lane. */
function laneChecked(fold, name) {
  const lane = fold.lanes[name];
  const broken = lane.frames.find((frame) => frame.violations.length);
  if (!lane.frames.some((frame) => frame.positions.length)) return t('drop.claimNothing', { lane: laneLong(name) });
  if (!broken) return t('drop.claimClean', { lane: laneLong(name), steps: tn('steps', lane.frames.length) });
  const { invariant, row } = broken.violations[0];
  return t('drop.claimBroken', { lane: laneLong(name), what: t(`invariant.${invariant}`), step: broken.step, row: row + 1 });
}

function laneClaim(fold, lane, key) {
  const { rows, equal, ties, waiting } = countEqual(fold, lane);
  const name = laneLong(lane);
  if (waiting) return t(fold.status === 'running' ? 'claimWait' : 'claimNotCompared', { lane: name });
  if (ties) return t('claimTie', { lane: name, equal, rows, ties });
  return t(key, { lane: name, equal, rows });
}

/** Writes the claim; a sentence stays on one line where it can. */
export function drawClaim(node, state, phone) {
  const sentences = claim(state, phone);
  if (unchanged(node, sentences)) return;
  const spans = sentences.flatMap((text) => [Object.assign(document.createElement('span'), { textContent: text }), ' ']);
  node.replaceChildren(...spans);
}
