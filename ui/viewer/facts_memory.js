// Where a token is in memory after this round: its slot, whose entry that is, whether the next query sees it, the
// position it was fed at and the one it should have, how it came to that slot.

import { fact, absent } from './facts.js';
import { tokenText } from './token_text.js';
import { t, tn } from './strings.js';

const signed = (n) => (n > 0 ? `+${n}` : n < 0 ? `−${-n}` : '0');

/** Facts of the token's KV entry at the ribbon's frame. */
export function memoryFacts({ fold, lane, row, index, id, ribbon }) {
  const { frame, i } = ribbon;
  const k = ribbon.tokens.findIndex((token) => token.index === index);
  const token = ribbon.tokens[k];
  const { map } = ribbon;
  const place = fact('row', t('inspect.rowOf', { row: row + 1, i: i + 1, n: frame.rows.length }), 'schedule.rows', frame.step);
  if (!token) return [place, fact('slot', t('inspect.hidden')), ...copies(fold, map, index, -1, frame)];
  const [position, slot] = [token.position, token.slot];
  const inMap = map.owner[slot] === index;
  const expected = index + (fold.header.positions === 'learned' ? 0 : ribbon.origin - ribbon.prompt);
  const left = ribbon.tokens[k - 1];
  const written = inMap ? writtenIn(fold.lanes[lane], row, index, frame.step) : null;
  const source = written ? ['kv.runs', written.step] : token.fed ? ['kv.runs', nextStep(fold.lanes[lane], row, frame.step)] : ['', undefined];
  const out = [place];
  if (inMap) {
    const moved = frame.origin[row]?.[slot] >= 0;
    out.push(fact('slot', slot, moved ? 'kv_op.moves' : 'kv.runs', moved ? frame.step : written?.step), cameFrom(frame, row, slot));
    if (written) out.push(fact('written', t('inspect.writtenAt', { step: written.step, slot: written.slot }), 'kv.runs', written.step));
    const held = map.token[slot];
    out.push(fact('owner', held === id ? t('inspect.ownerOk', { index }) : t('inspect.ownerOther', { index, id: held }), 'kv.runs, verify.tokens', written?.step, held === id ? '' : 'bad'));
    out.push(fact('visible', t(map.visible[slot] ? 'inspect.seen' : 'inspect.unseen'), 'kv.runs, kv.hide, kv.show', frame.step));
  } else {
    out.push(fact('slot', t(token.fed ? 'inspect.nextSlot' : 'inspect.noSlot', { slot }), token.fed ? 'verify.slots' : '', source[1]));
    out.push(absent('visible', 'kv.runs', t('inspect.noKv')));
  }
  out.push(fact('position', t(token.fed ? 'inspect.number' : 'inspect.will', { n: position }), ...source, position === expected ? '' : 'bad'));
  out.push(fact('expected', expected), fact('offset', signed(position - expected), '', undefined, position === expected ? '' : 'bad'));
  if (left) out.push(stepFact(position - left.position, index, left.index));
  return [...out, ...violation(fold.lanes[lane], row, index), ...copies(fold, map, index, slot, frame)];
}

/** Against its visible neighbour on the left: one position on, or a gap. */
function stepFact(by, index, left) {
  if (by === 1) return fact('neighbour', t('inspect.one'));
  return fact('neighbour', t('inspect.gap', { by: signed(by), left, size: signed(by - 1) }), '', undefined, 'bad');
}

/** The slot that this round's clean-up took the entry from. */
function cameFrom(frame, row, slot) {
  const origin = frame.origin[row];
  if (!(origin?.[slot] >= 0)) return fact('from', t('inspect.stayed'));
  const from = origin[slot];
  return fact('from', from === slot ? t('inspect.same') : t('inspect.movedFrom', { from, by: signed(slot - from) }), `kv_op.moves (${frame.op})`, frame.step);
}

/** The round that fed this token and wrote its entry, and the slot it got then. */
function writtenIn(lane, row, index, upTo) {
  for (const frame of lane.frames) {
    const i = frame.rows.indexOf(row);
    if (i < 0 || frame.step > upTo || !frame.fed[row] || frame.length[row] <= index) continue;
    const slot = frame.fed[row].owner.findIndex((owner, s) => s >= frame.slots[i] && owner === index);
    if (slot >= 0) return { step: frame.step, slot };
  }
  return null;
}

const nextStep = (lane, row, step) => lane.frames.find((frame) => frame.step > step && frame.rows.includes(row))?.step;

/** The invariant that broke at this very entry. */
function violation(lane, row, index) {
  const frame = lane.frames.find((found) => found.violations.some((v) => v.row === row && found.fed[row]?.owner[v.slot] === index));
  const found = frame?.violations.find((v) => v.row === row && frame.fed[row].owner[v.slot] === index);
  if (!found) return [];
  return [fact('violation', t(`debug.violated.${found.invariant}`, found) ?? found.message, 'violation', frame.step, 'bad')];
}

/** Other entries that claim the same place in the text: rejected drafts that are still in memory. */
function copies(fold, map, index, slot, frame) {
  const others = map.owner.map((owner, s) => (owner === index && s !== slot ? s : -1)).filter((s) => s >= 0);
  if (!others.length) return [];
  const words = others.map((s) => t('inspect.copy', { slot: s, word: tokenText(fold, map.token[s] < 0 ? undefined : map.token[s]).text || '?', position: map.position[s] }));
  return [fact('copies', `${tn('inspect.hiddenCopies', others.length)}: ${words.join('; ')}`, 'kv.runs, kv.hide', frame.step)];
}
