// The controlled experiment: the right lane becomes the run with the same holes, masks and padding, in which only the
// position ids are repaired. Both are lanes of the same trace.

import { siblingOf } from './clock.js';
import { t } from './strings.js';
import { el } from './svg.js';

/** The lane that the button would show, or null when the trace has none. */
export function otherLane(state) {
  const other = siblingOf(state.right);
  return state.fold?.lanes[other] ? other : null;
}

export function mountRepair(node, store) {
  const button = el('button', {
    type: 'button', class: 'r-repair', 'aria-pressed': 'false', 'data-room': [t('repair'), t('undo')].sort((a, b) => b.length - a.length)[0],
    onclick: () => store.set({ right: otherLane(store.get()) ?? store.get().right, cell: null, hover: null, touched: true }),
  }, t('repair'));
  node.append(button);
  store.subscribe((state) => {
    const other = otherLane(state);
    const repaired = state.right.endsWith('_repaired');
    const empty = other && !state.fold.lanes[other].frames.length;
    button.textContent = t(repaired ? 'undo' : 'repair');
    button.setAttribute('aria-pressed', String(repaired));
    button.hidden = !state.mayRepair || (!other && state.source.kind !== 'recorded');
    button.disabled = !other || Boolean(empty);
    button.title = !other ? t('noRepair') : empty ? t('repairWait') : '';
  });
}
