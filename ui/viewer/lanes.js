// Which two lanes of the trace stand beside each other. Shown only where there is a choice: a repaired twin is none, its
// own button leads there.

import { siblingOf } from './clock.js';
import { el } from './svg.js';
import { t, laneLong } from './strings.js';

export function mountLanes(at, store) {
  const choose = (side) => el('select', { 'aria-label': t(`lanes.${side}`), 'data-side': side, onchange: ({ target }) => store.set({ [side]: target.value, cell: null, hover: null, touched: true }) });
  const [left, right] = [choose('left'), choose('right')];
  const node = el('div', { class: 'r-lanes', hidden: true }, el('span', {}, t('lanes.compare')), left, el('span', {}, t('lanes.with')), right);
  at.line.after(node);
  store.subscribe((state, changed) => { if (['fold', 'left', 'right'].some((key) => changed.has(key))) draw(state); });
  draw(store.get());

  function draw(state) {
    if (!state.fold?.header) return;
    const names = Object.keys(state.fold.lanes);
    node.hidden = names.every((name) => [state.left, state.right, siblingOf(state.right)].includes(name));
    for (const [select, value] of [[left, state.left], [right, state.right]]) {
      select.replaceChildren(...names.map((name) => el('option', { value: name }, laneLong(name))));
      select.value = value;
    }
  }
}
