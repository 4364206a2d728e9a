// This round as a real table, for screen readers. Rebuilt only while paused.

import { ribbonOf } from './gaps.js';
import { rowOrder } from './clock.js';
import { keptBack, verdictOf } from './verdict.js';
import { units } from './pieces.js';
import { el } from './svg.js';
import { t, laneLong } from './strings.js';

export function mountTable(node, store) {
  store.subscribe((state) => {
    if (state.fold?.header && !state.playing && !state.live) node.replaceChildren(tableOf(state));
  });
}

function tableOf(state) {
  const head = el('tr', {}, ...t('tableHead').map((text) => el('th', { scope: 'col' }, text)));
  const rows = [...new Set([state.left, state.right])].flatMap((lane) => rowOrder(state.fold).map((row) => line(state, lane, row)));
  return el('table', {}, el('caption', {}, t('table', { step: state.step })), el('thead', {}, head), el('tbody', {}, ...rows));
}

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
  return el('tr', {}, ...cells.map((cell) => el('td', {}, String(cell))));
}
