// What is wrong with a row where an invariant first broke: one sentence of what its mask shows and its memory lacks.
//
//   owner    . . . . 0 1 2      visible  0 0 1 1 1 1 1      two pads are seen: the mask begins before the entries

import { t, tn } from './strings.js';

/** The view of the tensors that shows a broken invariant. */
export const VIEW_OF = { kv: 'owners', contiguity: 'positions', mask: 'mask', input: 'kinds', emission: 'kinds', rectangle: 'kinds' };

/** What the row's forward could see that it must not, and could not see that it must: {pads, stale, hidden, gone}. */
export function faultsOf(frame, row, held) {
  const { owner, visible } = frame.before[row];
  const seen = owner.filter((_, slot) => visible[slot]);
  const kept = new Set(seen.filter((index) => index >= 0 && index < held));
  const missing = Array.from({ length: held }, (_, index) => index).filter((index) => !kept.has(index));
  const gone = missing.filter((index) => !owner.includes(index)).length;
  const pads = seen.filter((index) => index < 0).length;
  return { pads, stale: seen.length - pads - kept.size, hidden: missing.length - gone, gone };
}

/** The sentence; for an invariant that is not about the cache what was found, and what was due. */
export function reasonOf(fold, lane, row, violation) {
  const { frames } = fold.lanes[lane];
  const at = frames.findIndex(({ step }) => step === violation.step);
  const frame = frames[at];
  const told = t(`debug.violated.${violation.invariant}`, violation) ?? violation.message;
  if (!['kv', 'mask', 'rectangle'].includes(violation.invariant) || !frame?.before[row]) return t('reason.other', { told });
  const held = frame.before[row].owner.some((index) => index >= 0) ? frame.length[row] - frame.emitted[frame.rows.indexOf(row)].length - 1 : 0;
  const parts = Object.entries(faultsOf(frame, row, held)).filter(([, n]) => n).map(([name, n]) => tn(`reason.${name}`, n));
  if (!parts.length) return t('reason.other', { told });
  const last = frames.slice(0, at).findLast((other) => other.fed[row]);
  const by = last ? maskAlone(last, frame, row) : 0;
  const list = t('reason.list', { list: parts.join(t('reason.and')) });
  return by ? `${t(by < 0 ? 'reason.maskLeft' : 'reason.maskRight', { n: Math.abs(by), step: last.step })} ${list}` : list;
}

/** By how many slots the mask's beginning moved since the round before, where the entries stayed; else 0. */
function maskAlone(last, frame, row) {
  const [then, now] = [last.fed[row], frame.before[row]];
  return then.owner.indexOf(0) === now.owner.indexOf(0) ? now.visible.indexOf(1) - then.visible.indexOf(1) : 0;
}
