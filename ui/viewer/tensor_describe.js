// Sentences about a step's tensors: headline, facts, gutter, tooltip, the label of a plot. Numbers come from the matrices.

import { laneName, laneNote, rowName } from './strings.js';
import { at, copyOf, isPrefill, KIND, MOVE } from './tensor_data.js';
import { OWNER } from './tensor_layers.js';
import { say, sayCount, signed } from './tensor_words.js';

const nameOf = (codes, code) => Object.keys(codes).find((name) => codes[name] === code);
const count = (z, code) => z.reduce((sum, row) => sum + row.filter((c) => c === code).length, 0);
const lower = (row) => rowName(row).toLowerCase();

/** Name, step, dimensions of the forward, and whether the lane holds its last state. */
export function headline(lane, frame, step) {
  const queries = Math.max(0, ...frame.positions.map((p) => p.length));
  const note = laneNote(lane.name);
  return {
    name: laneName(lane.name) + (note ? `, ${note}` : ''),
    when: say(!isPrefill(frame) ? 'round' : frame.step ? 'whole' : 'prefill', { n: frame.step }),
    dims: say('dims', { b: frame.rows.length, t: queries, s: frame.width }),
    held: frame.step >= step ? '' : lane.status === 'running' ? say('waits') : say('done'),
  };
}

/** One line of facts below a panel. */
export function factOf(tensor, kinds, frame) {
  if (tensor.missing) return '';
  const n = (name) => count(kinds.z, KIND[name]);
  if (tensor.view === 'mask') {
    const queries = tensor.z.filter((line) => line[0] !== null).length;
    const seen = Object.values(tensor.padSeen).reduce((sum, { size: pads }) => sum + pads, 0);
    const fact = say(!isPrefill(frame) ? 'maskFact' : frame.step ? 'maskWhole' : 'maskPrefill', { n: queries, pads: n('pad') - seen, holes: n('hole') });
    return seen ? `${fact} ${sayCount('padsSeen', seen)}` : fact;
  }
  if (tensor.view === 'move') return moveFact(tensor);
  if (tensor.view === 'owners') {
    const [wrong, hidden, seen] = [OWNER.rejected, OWNER.hole, OWNER.dropped].map((code) => count(tensor.z, code));
    const lost = Object.values(tensor.own).reduce((sum, [held, fed]) => sum + fed - held, 0);
    const bad = [wrong && say('ownersWrong', { wrong, hidden }), seen && sayCount('padsSeen', seen), lost && sayCount('lost', lost)].filter(Boolean);
    return bad.length ? bad.join(' ') : say('ownersRight', { hidden });
  }
  if (['positions', 'gaps'].includes(tensor.view)) {
    if (!tensor.gaps.length) return say('noGap');
    const first = tensor.gaps.reduce((a, b) => (b.slot < a.slot ? b : a));
    return say(tensor.gaps.length > 1 ? 'moreGaps' : 'firstGap', { ...first, row: lower(first.row), n: tensor.gaps.length });
  }
  const slots = kinds.z.flat().filter((code) => code !== null).length;
  const accepted = n('accepted') + n('cut');
  return say('kindsFact', { slots, pads: n('pad'), holes: n('hole'), accepted, rejected: n('rejected'), filler: n('filler') });
}

function moveFact({ shift, dead, bytes, cost, gone, ahead }) {
  const moved = Object.values(shift).filter((deltas) => deltas.some(Boolean)).length;
  const what = moved ? sayCount('shifted', moved) : !dead ? say('unshifted') : bytes ? sayCount('deadKept', dead) : sayCount('dead', dead);
  return [ahead ? say('ahead') : '', what, cost, ...gone.map((row) => say('gone', { row: rowName(row) }))].filter(Boolean).join(' ');
}

/** The short text right of each row: {row: text}. A row outside the batch has ended, or waits for its turn. */
export function gutterOf(tensor, frame, lane) {
  return Object.fromEntries(tensor.rows.map((row, n) => {
    const i = frame.rows.indexOf(row);
    if (tensor.missing) return [row, ''];
    if (i >= 0) return [row, GUTTER[tensor.view](tensor, frame, row, n, i)];
    const later = lane.frames.some((f) => f.step > frame.step && f.rows.includes(row));
    return [row, say(at(lane.rows, row)?.done && !later ? 'ended' : 'outside')];
  }));
}

const GUTTER = {
  kinds: (tensor, frame, row, n, i) => (frame.accepted.length && !isPrefill(frame) ? `${frame.accepted[i]}/${frame.lens[i]}` : ''),
  positions(tensor, frame, row, n) {
    const off = tensor.z[n].reduce((a, b) => (Math.abs(b ?? 0) > Math.abs(a) ? b : a), 0);
    return !off && tensor.base[n] ? say('allBy', { by: signed(tensor.base[n]) }) : signed(off);
  },
  gaps: (tensor, frame, row, n) => signed(tensor.z[n].reduce((sum, gap) => sum + (gap ?? 0), 0)),
  owners: (tensor, frame, row) => tensor.own[row].join('/'),
  mask(tensor, frame, row) {
    const last = tensor.lines.findLastIndex((line, n) => line.row === row && tensor.z[n].some((seen) => seen !== null));
    return last < 0 ? '' : `${count([tensor.z[last]], 1)}/${tensor.width}`;
  },
  move(tensor, frame, row) {
    if (tensor.gone.includes(row)) return say('ended');
    return tensor.shift[row].map((d) => (d ? `${d > 0 ? '→' : '←'} ${signed(d)}` : '0')).join(' ') || '0';
  },
};

/** What a cell is, as [term, words] pairs for the tooltip and for a screen reader. */
export function describe({ fold, frame, tensor, kinds, row, line, slot, query }) {
  const out = [];
  const put = (term, words) => out.push([say(`term.${term}`), words]);
  put('cell', say(query === undefined ? 'cell' : 'cellQuery', { lane: laneName(tensor.lane), row: lower(row), slot, query }));
  if (!frame.rows.includes(row)) {
    put('state', say('absentRow'));
    return out;
  }
  const n = tensor.rows.indexOf(row);
  const later = tensor.view === 'move' && line % 2 === 1;
  const first = tensor.view === 'move' && frame.ahead && !later; // what the round found: this forward's kinds are not of it
  const m = at(tensor.view === 'move' ? copyOf(frame)[later ? 1 : 0] : frame.fed, row);
  const chosen = !later && !first && kinds.chosen.find((c) => c.row === row && c.slot === slot);
  if (chosen) {
    put('token', token(fold, chosen.id));
    put('kind', say('chosenNow', { kind: say(`chosen.${chosen.kind}`) }));
    return out;
  }
  if (!m || slot >= m.owner.length || (later && tensor.origin[n][slot] === null)) {
    put('state', say('noSlot'));
    return out;
  }
  const [owner, { prompt }] = [m.owner[slot], at(at(fold.lanes, tensor.lane).rows, row)];
  if (m.token[slot] >= 0 && owner >= 0) put('token', token(fold, m.token[slot]));
  put('owner', owner < 0 ? say('noOwner') : say(owner < prompt ? 'ownerPrompt' : 'ownerNew', { n: owner, g: owner - prompt }));
  if (m.position[slot] >= 0) put('position', positionWords(m, slot, fold));
  if (tensor.view === 'mask') put('mask', say(tensor.z[line][slot] ? 'attends' : 'attendsNot'));
  else put('visible', say(m.visible[slot] ? 'yes' : 'no'));
  if (!later && !first) put('kind', say(`kind.${nameOf(KIND, kinds.z[n][slot])}`));
  if (tensor.view === 'owners') put('state', say(`owns.${nameOf(OWNER, tensor.z[line][slot])}`));
  if (tensor.view === 'gaps' && tensor.z[line][slot]) put('gap', signed(tensor.z[line][slot]));
  if (tensor.view === 'move') put('move', moveWords(tensor, n, line, slot));
  return out;
}

function positionWords(m, slot, fold) {
  const fed = m.position[slot];
  if (m.owner[slot] < 0) return say('positionFree', { fed });
  const first = m.owner.findIndex((owner, s) => owner === 0 && m.visible[s]);
  const expected = m.owner[slot] + (fold.header?.positions === 'learned' || first < 0 ? 0 : m.position[first]);
  return say(fed === expected ? 'position' : 'positionOff', { fed, expected, off: signed(fed - expected) });
}

function moveWords(tensor, n, line, slot) {
  const fate = say(`fate.${nameOf(MOVE, tensor.z[line][slot])}`);
  const [from, to] = line % 2 ? [tensor.origin[n][slot], slot] : [slot, tensor.origin[n].indexOf(slot)];
  return from >= 0 && to >= 0 ? say('fromTo', { fate, from, to, shift: signed(to - from) }) : fate;
}

/** The label of a plot for those who cannot see it. */
export function plotLabel(tensor, kinds, lane, frame, step) {
  const { name, when, dims } = headline(lane, frame, step);
  const gutter = gutterOf(tensor, frame, lane);
  const rows = tensor.rows.filter((row) => gutter[row]).map((row) => `${lower(row)} ${gutter[row]}`).join(', ') || '-';
  return say('label', {
    view: say(`view.${tensor.view}`), lane: name, when, dims, fact: factOf(tensor, kinds, frame), gutter: say(`gutter.${tensor.view}`), rows,
  });
}

function token(fold, id) {
  const [text, raw] = at(fold.pieces, id) ?? [`#${id}`, ''];
  return say('token', { text: raw ? say('bytesToken', { hex: raw }) : `“${legible(text)}”`, id });
}

/** At most `room` columns of a token's text for a cell. */
export function shortPiece(fold, id, room) {
  const [text, raw] = at(fold.pieces, id) ?? [`#${id}`, ''];
  if (raw) return raw.slice(0, room);
  const glyphs = graphemes(legible(text));
  const columns = (glyph) => (/[\u1100-\uffdc\u{1f000}-\u{1faff}]/u.test(glyph) ? 2 : 1);
  let [out, used] = ['', 0];
  for (const [n, glyph] of glyphs.entries()) {
    used += columns(glyph);
    if (used > room || (used === room && n < glyphs.length - 1)) return `${out}…`;
    out += glyph;
  }
  return out;
}

function legible(text) {
  const control = (c) => `U+${c.codePointAt(0).toString(16).toUpperCase().padStart(4, '0')}`;
  return text.replaceAll(' ', '·').replace(/\r?\n/g, '↵').replaceAll('\t', '⇥')
    .replace(/[\u0000-\u001f\u007f-\u009f\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g, control);
}

function graphemes(text) {
  return Intl.Segmenter ? Array.from(new Intl.Segmenter().segment(text), (part) => part.segment) : [...text];
}
