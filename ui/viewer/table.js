// This round as a real table, for screen readers. Redrawn only while paused.

import { ribbonOf } from './gaps.js';
import { rowOrder } from './clock.js';
import { keptBack, verdictOf } from './verdict.js';
import { units } from './pieces.js';
import { el } from './svg.js';
import { t, laneLong } from './strings.js';
import { write } from './unchanged.js';

export function mountTable(node, store) {
  store.subscribe((state) => {
    if (state.fold?.header && !state.playing && !state.live) drawTable(node, state);
  });
}

/** Builds the table when the number of its rows changes, and writes what else is new. */
function drawTable(node, state) {
  const lines = [...new Set([state.left, state.right])].flatMap((lane) => rowOrder(state.fold).map((row) => line(state, lane, row)));
  if (node.querySelector('tbody')?.children.length !== lines.length) node.replaceChildren(tableOf(lines));
  write(node.querySelector('caption'), t('table', { step: state.step }));
  const rows = node.querySelector('tbody').children;
  lines.forEach((cells, n) => cells.forEach((text, m) => write(rows[n].children[m], text)));
}

function tableOf(lines) {
  const head = el('tr', {}, ...t('tableHead').map((text) => el('th', { scope: 'col' }, text)));
  const body = lines.map((cells) => el('tr', {}, ...cells.map(() => el('td'))));
  return el('table', {}, el('caption'), el('thead', {}, head), el('tbody', {}, ...body));
}

/** A row's texts, cell by cell. */
function line(state, lane, row) {
  const ribbon = ribbonOf(state.fold, lane, row, state.step);
  const cells = [laneLong(lane), row + 1, '', '', '', '', '', keptBack(state) ? '' : verdictOf(state.fold, lane, row).text];
  if (ribbon) {
    const { frame, i } = ribbon;
    const last = ribbon.tokens.at(-1);
    const ids = ribbon.now ? frame.emitted[i] ?? [] : [];
    const text = units(ids, state.fold.pieces, state.fold.header.stop_ids, t('endToken')).map((unit) => unit.text).join('');
    cells.splice(2, 5, ribbon.now ? frame.lens[i] ?? '' : '', ribbon.now ? frame.accepted[i] ?? '' : '', text,
      last.position, ribbon.origin - ribbon.prompt + last.index);
  }
  return cells.map(String);
}
