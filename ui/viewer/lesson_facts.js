// What the chapters read of a folded trace: rounds, entries, words. Everything a chapter asks is computed from here.

import { quoted, units } from './pieces.js';
import { t } from './strings.js';

/** A token in quotes. */
export const word = (fold, id) => quoted(id, fold, t('endToken'));

/** A token for a cell: bare. */
export function bare(fold, id) {
  const [unit] = units([id], fold.pieces, fold.header.stop_ids, t('endToken'));
  return unit.text.trim() || unit.text.replaceAll(' ', '·');
}

/** Every row of every draft round of a lane: {frame, i, row, step, k, j, old}; j of k drafts accepted, old = length before. */
export function draftRounds(fold, laneName) {
  return (fold.lanes[laneName]?.frames ?? []).flatMap((frame) => frame.rows.map((row, i) => ({
    frame, i, row, step: frame.step, k: frame.lens[i] ?? 0, j: frame.accepted[i] ?? 0, old: frame.length[row] - (frame.emitted[i]?.length ?? 0),
  }))).filter(({ k }) => k > 0);
}

/** Entries of a KV map that belong to a token. */
export const owned = (map) => (map?.owner ?? []).filter((owner) => owner >= 0);

/** Masked pads in front of a row's first token, in a frame's map. */
export const padsOf = (map) => Math.max(0, (map?.owner ?? []).indexOf(0));

/** What the columns of a row's round hold, from `context` tokens before the fed ones on:
 *  {slot, id, choice, kind: old | fed | kept | rejected | filler}; `choice`: what the target chose at that place. */
export function columnsOf({ frame, i, row, k, j, old }, context = 0) {
  const map = frame.fed[row];
  const first = frame.slots[i];
  const out = [];
  for (let slot = Math.max(0, first - context); slot < map.owner.length; slot += 1) {
    const n = slot - first; // column of this forward
    const kind = n < 0 ? 'old' : n === 0 ? 'fed' : map.owner[slot] < 0 || n > k ? 'filler' : map.owner[slot] < old + j ? 'kept' : 'rejected';
    out.push({ slot, id: map.token[slot], kind, choice: n > 0 && n <= k ? frame.choice[i][n - 1] : null });
  }
  return out.filter(({ kind }) => kind !== 'filler');
}

/** Whole numbers a..b as options. */
export const numbers = (a, b) => Array.from({ length: b - a + 1 }, (_, n) => ({ value: a + n, text: String(a + n) }));

/** Different whole numbers, in order, as options. */
export const choices = (...values) => [...new Set(values.filter((n) => n >= 0))].sort((a, b) => a - b).map((value) => ({ value, text: String(value) }));
