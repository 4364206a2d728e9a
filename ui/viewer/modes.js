// Two ways to show the stage elsewhere. ?present=1: for a projector, large, driven by keys alone.
// ?embed=1: inside another page's frame, which is told the height: {type: 'ragged:height', height}.

import { queryOf } from './link.js';
import { el } from './svg.js';
import { t } from './strings.js';

/** Applies the mode that the address asks for. Returns {present()}, which turns the presenter's mode on and off,
 *  and what it needs to know of itself: presenting(), and tooHigh(): the stage without its panels is higher than the screen. */
export function mountModes(at, store) {
  const query = new URLSearchParams(location.search);
  if (query.get('embed') === '1') embed(at, store);
  const board = at.board.parentElement;
  let from = null; // what had the focus before the presenter's mode took it
  const present = (on) => {
    if (on !== presenting()) from = on ? document.activeElement : from;
    at.stage.classList.toggle('present', on);
    if (on) board.focus({ preventScroll: true });
    else giveBack();
  };
  /** The rows are drawn anew, and a row's name that had the focus may be no button then: back to where it was before. */
  const giveBack = () => {
    const active = document.activeElement;
    if (at.stage.contains(active) && !board.contains(active)) return; // in a panel, which stays
    (from?.isConnected && at.stage.contains(from) && from.checkVisibility() ? from : board).focus({ preventScroll: true });
  };
  const presenting = () => at.stage.classList.contains('present');
  if (query.get('present') === '1') present(true);
  store.subscribe((state) => at.stage.classList.toggle('tensors', state.tensorsOpen)); // there they open by 1 to 6
  document.addEventListener('click', () => { // a click beside everything must not take the keys away
    if (presenting() && !at.stage.contains(document.activeElement)) present(true);
  });
  const parts = [at.stage.querySelector('.r-head'), at.line, board, at.transport, at.below];
  const tooHigh = () => parts.reduce((sum, node) => sum + node.getBoundingClientRect().height, 0) > window.innerHeight;
  return { present: () => present(!presenting()), presenting, tooHigh };
}

/** Only the comparison itself, a line of what it is and the way to the whole page. */
function embed(at, store) {
  at.stage.classList.add('embed');
  const whole = el('a', { class: 'r-whole', target: '_blank', rel: 'noopener' }, t('whole'));
  at.below.after(whole);
  store.subscribe((state) => {
    const query = new URLSearchParams(queryOf(state));
    query.delete('embed');
    whole.href = `${location.pathname}?${query}`;
  });
  if (parent === window) return;
  new ResizeObserver(() => parent.postMessage({ type: 'ragged:height', height: Math.ceil(at.stage.getBoundingClientRect().height) }, '*')).observe(at.stage);
}
