// What was changed in a what-if run: one line above the rows, read from the header that the server wrote.

import { readLink } from './link.js';
import { quoted, units } from './pieces.js';
import { el } from './svg.js';
import { t, laneLong } from './strings.js';

/** The change that a header tells of: {trace, lane, row, index, given: ids, instead: {id, piece}}, or null. `index` is a
 *  generated token of the original; what was given of the output ends with the token that was chosen. */
export function changeOf(header) {
  const { trace, lane, row, index, instead } = header?.what_if ?? {};
  const ids = header?.prompts.find((p) => p.row === row)?.ids;
  if (!ids || !Number.isInteger(index) || index < 0 || index >= ids.length - 1) return null;
  if (![trace, lane].every((name) => typeof name === 'string') || !Array.isArray(instead)) return null;
  const [id, text, hex] = instead; // a dropped file may hold anything here
  const piece = [typeof text === 'string' ? text : '', /^([\da-f]{2})+$/i.test(hex) ? hex : ''];
  return { trace, lane, row, index, given: ids.slice(-index - 1), instead: { id: Number.isInteger(id) ? id : -1, piece } };
}

/** `open(link)` opens another trace. Returns {focus()}. */
export function mountChanged(at, store, page, open) {
  const title = el('h2', { tabindex: -1 });
  const about = el('p', {});
  const node = el('section', { id: 'ragged-changed', class: 'r-changed', hidden: true }, title, about);
  at.line.after(node);
  let whole = true; // the texts of tokens come after the header
  store.subscribe((state, changed) => { if (changed.has('fold') || (changed.has('version') && !whole)) update(state); });
  update(store.get());

  function update(state) {
    const change = changeOf(state.fold?.header);
    whole = !change || change.given.every((id) => Object.hasOwn(state.fold.pieces, id));
    node.hidden = !change;
    if (change) draw(state, change);
  }

  function draw({ fold, source }, { trace, lane, row, index, given, instead }) {
    const end = t('endToken');
    const both = { ...fold, pieces: { ...fold.pieces, [instead.id]: instead.piece } };
    const values = { row: row + 1, n: index + 1, token: quoted(given.at(-1), fold, end), instead: quoted(instead.id, both, end) };
    title.textContent = t('whatIf.changed', values);
    const text = (ids) => units(ids, fold.pieces, fold.header.stop_ids, end).map((unit) => unit.text).join('');
    const cell = { lane, row, index: fold.header.prompts.find((p) => p.row === row).ids.length - 1 };
    const query = `?t=${encodeURIComponent(trace)}&row=${row}&cell=${encodeURIComponent(`${lane}.${row}.${cell.index}`)}&open=cell`;
    const original = el('a', { href: query, onclick: (event) => { event.preventDefault(); open({ ...readLink(query), step: Infinity }); } }, t('whatIf.original'));
    about.replaceChildren(`${t('whatIf.given', values)} `, el('q', { dir: 'auto' }, text(given.slice(0, -1)), el('b', {}, text(given.slice(-1)))), '. ',
      fold.header.prompts.length > 1 ? `${t('whatIf.others')} ` : '',
      ...(page.saved || source.kind === 'file' ? [] : [el('span', { class: 'r-from' }, `${t('whatIf.from', { lane: laneLong(lane) })} `, original, '.')]));
  }

  return { focus: () => title.focus({ preventScroll: true }) };
}
