// A play option: stop when a row accepts nothing. Says which row of which lane it was.

import { t, laneLong } from './strings.js';

/** The first row of the shown lanes that had drafts in this step and kept none: {lane, row, drafts}, or null. */
export function nothingAccepted({ fold, left, right, step }) {
  for (const lane of [right, left]) {
    for (const frame of fold?.lanes[lane]?.frames.filter((found) => found.step === step) ?? []) {
      const i = frame.accepted.findIndex((n, at) => n === 0 && frame.lens[at] > 0);
      if (i >= 0) return { lane, row: frame.rows[i], drafts: frame.lens[i] };
    }
  }
  return null;
}

export function mountBreakpoint(store, player) {
  let said = '';
  store.subscribe((state, changed) => {
    if (!changed.has('step')) return;
    const found = state.playing && state.stopEmpty ? nothingAccepted(state) : null;
    if (found) {
      player.stop();
      said = t('debug.stopped', { lane: laneLong(found.lane), row: found.row + 1, n: found.drafts, step: state.step });
      store.set({ row: found.row, message: said, touched: true });
    } else if (said && state.message === said) store.set({ message: said = '' });
  });
}
