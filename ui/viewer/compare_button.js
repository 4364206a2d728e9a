// The quiet button on a row's verdict that opens the debugger at that row.

import { el } from './svg.js';
import { t, rowName } from './strings.js';

/** Adds the button to the method's verdicts; one that was redrawn has lost it. */
export function drawCompareButtons(board, state, toggle) {
  for (const lane of board.querySelectorAll('.r-lane')) {
    const verdict = lane.querySelector('.r-verdict');
    const old = verdict.querySelector('.r-compare');
    if (lane.dataset.lane !== state.right || state.left === state.right || !state.fold.lanes[state.right]) {
      old?.remove();
      continue;
    }
    const row = Number(lane.dataset.row);
    const open = String(state.debug && state.row === row);
    if (old?.getAttribute('aria-expanded') === open) continue;
    if (old) old.setAttribute('aria-expanded', open);
    else verdict.append(el('button', {
      type: 'button', class: 'r-compare', 'data-key': `compare/${row}`, 'aria-expanded': open, 'aria-controls': 'ragged-debugger',
      'aria-label': t('debug.openRow', { row: rowName(row) }), onclick: () => toggle(row),
    }, t('debug.open')));
  }
}
