// The quiet button on a row's verdict that opens the debugger at that row.

import { el } from './svg.js';
import { t, rowName } from './strings.js';

/** Adds the button to the method's verdicts; these are redrawn at every step, so it is added every time. */
export function drawCompareButtons(board, state, toggle) {
  for (const lane of board.querySelectorAll('.r-lane')) {
    if (lane.dataset.lane !== state.right || state.left === state.right || !state.fold.lanes[state.right]) continue;
    const row = Number(lane.dataset.row);
    const open = state.debug && state.row === row;
    lane.querySelector('.r-verdict').append(el('button', {
      type: 'button', class: 'r-compare', 'data-key': `compare/${row}`, 'aria-expanded': String(open), 'aria-controls': 'ragged-debugger',
      'aria-label': t('debug.openRow', { row: rowName(row) }), onclick: () => toggle(row),
    }, t('debug.open')));
  }
}
