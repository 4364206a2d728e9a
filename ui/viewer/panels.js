// The panels that open in place: the debugger below the caption, the inspector below what was clicked. Opens and closes
// them, and hands the focus over and back.

import { mountDebugger } from './debugger.js';
import { mountInspector } from './inspector.js';
import { el } from './svg.js';
import { t } from './strings.js';

const CELLS = '.r-rows [data-index], .r-strip [data-index], .rg-tn-wrap';

export function mountPanels(at, store, act) {
  const debugBox = el('section', { id: 'ragged-debugger', class: 'r-panel', hidden: true });
  const inspectBox = el('section', { id: 'ragged-inspector', class: 'r-panel', hidden: true });
  at.below.after(debugBox);
  at.below.after(inspectBox);
  const debug = mountDebugger(debugBox, store, { ...act, close: closeDebug });
  const inspect = mountInspector(inspectBox, store, { ...act, close: closeInspector, steady });
  let opener = null; // of the debugger
  let from = null; //   the cell that somebody has just chosen: an element
  let placed = false; // a link opens the inspector too

  const note = ({ target }) => {
    from = target.closest?.(CELLS) ?? null;
    if (from) afterDraw(() => { from = null; }); // not every cell belongs to a token
  };
  at.stage.addEventListener('click', note, true);
  at.stage.addEventListener('keydown', (event) => { if (event.key === 'Enter' || event.key === ' ') note(event); }, true);
  store.subscribe((state, changed) => {
    if (changed.has('guessing') && !state.guessing && state.message === t('inspect.afterAnswer')) store.set({ message: '' });
    if (changed.has('cell') && !state.cell && state.inspect) store.set({ inspect: false });
    if (changed.has('cell') && state.cell && from) openInspector(from);
    else if (state.inspect && !placed) openInspector(at.board);
    placed = store.get().inspect;
  });

  /** Puts the inspector below the place that was clicked; what was clicked stays where it is on the screen. */
  function openInspector(target) {
    if (store.get().guessing) return store.set({ inspect: false, message: t('inspect.afterAnswer') }); // it would answer the open question
    const board = at.board.parentElement;
    const home = [debugBox, at.tensors].find((place) => place.contains(target)) ?? (store.get().oneRow ? board : at.below);
    if (home.nextElementSibling !== inspectBox) still(home === at.below ? board : home, () => home.after(inspectBox));
    inspectBox.style.minHeight = '';
    if (!store.get().inspect) store.set({ inspect: true, touched: true });
  }

  /** A new round may change the inspector's height: where it stands above the buttons, these stay under the finger. */
  function steady(redraw) {
    const above = inspectBox.compareDocumentPosition(at.transport) & Node.DOCUMENT_POSITION_FOLLOWING;
    inspectBox.style.minHeight = above ? `${inspectBox.offsetHeight}px` : ''; // a page cannot scroll above its top
    return above ? still(at.transport, redraw) : redraw();
  }

  function closeInspector() {
    const { cell } = store.get();
    const inside = inspectBox.contains(document.activeElement);
    store.set({ inspect: false, cell: null, touched: true });
    if (inside) afterDraw(() => focusBack(at, null, cell));
  }

  /** Opens the debugger, at a row if one is named; closes it when that row was open already. */
  function openDebug(row = store.get().row) {
    const state = store.get();
    if (state.debug && state.row === row) return closeDebug();
    opener = document.activeElement?.dataset.key ?? null;
    store.set({ debug: true, row, touched: true });
    return afterDraw(() => {
      debug.focus();
      debugBox.scrollIntoView({ block: debugBox.offsetHeight < innerHeight ? 'nearest' : 'start' }); // no farther than needed
    });
  }

  function closeDebug() {
    const inside = debugBox.contains(document.activeElement);
    store.set({ debug: false, touched: true });
    if (inside) afterDraw(() => focusBack(at, opener));
  }

  return {
    debug: openDebug,
    /** Opens the inspector for the pinned cell, and goes there. */
    inspect() {
      const { cell, inspect: open } = store.get();
      if (!cell) return;
      if (!open) openInspector(at.board);
      afterDraw(() => {
        inspect.focus();
        inspectBox.scrollIntoView({ block: 'nearest' });
      });
    },
    /** One thing at a time: the inspector with its cell, the debugger that has the focus, the pinned cell, the debugger. */
    escape() {
      const { cell, inspect: inspecting, debug: open } = store.get();
      if (inspecting) closeInspector();
      else if (open && debugBox.contains(document.activeElement)) closeDebug();
      else if (cell) store.set({ cell: null });
      else if (open) closeDebug();
    },
    /** The part of a link that says what is open. */
    named: (link) => ({ micro: Boolean(link.micro), debug: Boolean(link.debug), stopEmpty: Boolean(link.stopEmpty), inspect: Boolean(link.inspect && link.cell) }),
  };
}

/** Runs `change`; `node` stays where it is on the screen. */
function still(node, change) {
  const top = node.getBoundingClientRect().top;
  change();
  const moved = node.getBoundingClientRect().top - top;
  if (Math.abs(moved) >= 1) scrollBy({ top: moved, behavior: 'instant' });
}

/** To what opened a panel, else to the word of the cell it was about, else to the board. */
function focusBack(at, key, cell) {
  const opener = key && at.board.querySelector(`[data-key="${CSS.escape(key)}"]`);
  const words = cell ? at.board.querySelectorAll(`.r-lane[data-lane="${CSS.escape(cell.lane)}"][data-row="${cell.row}"] .r-word:not(.future)`) : [];
  const word = [...words].find(({ dataset }) => Number(dataset.index) <= cell.index && cell.index <= Number(dataset.last));
  (opener || word || at.board.parentElement).focus({ preventScroll: true });
}

/** After the views have drawn what was just set. */
function afterDraw(then) {
  requestAnimationFrame(() => requestAnimationFrame(then));
}
