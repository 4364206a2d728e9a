// Keys, only while the stage has the focus, never while typing or composing. A focused button keeps its Space and
// Enter, a slider its arrows, and inside a line of words the arrows go from word to word.

import { lastStep, laneGap, laneWrong, shownRows } from './clock.js';
import { firstViolation, firstWrong } from './gaps.js';
import { brokenCell } from './verdict.js';

const VIEWS = ['kinds', 'positions', 'mask', 'move'];

export function mountKeys(stage, store, player, actions) {
  const does = {
    ' ': () => player.toggle(),
    ArrowLeft: () => player.by(-1),
    ArrowRight: () => player.by(1),
    Home: () => player.go(0),
    End: () => player.go(lastStep(store.get())),
    ArrowUp: () => moveRow(store, -1),
    ArrowDown: () => moveRow(store, 1),
    d: () => toDifference(store, player),
    v: () => toViolation(store, player),
    ',': () => player.faster(-1),
    '.': () => player.faster(1),
    l: () => actions.copyLink(),
    '?': () => actions.help(),
    Escape: () => store.set({ cell: null }),
  };
  VIEWS.forEach((view, n) => { does[n + 1] = () => store.set({ view, tensorsOpen: true, touched: true }); });

  stage.addEventListener('keydown', (event) => {
    if (event.isComposing || event.keyCode === 229 || event.defaultPrevented) return;
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (keeps(event.target, key) || !Object.hasOwn(does, key)) return;
    event.preventDefault();
    does[key]();
  });
}

/** True when the focused control has its own use for this key. */
function keeps(target, key) {
  if (target.closest('dialog, textarea, select, [contenteditable=""], [contenteditable=true]')) return true;
  if (target.matches('input:not([type=range])')) return true;
  if (target.matches('input[type=range]')) return /^(Arrow|Home|End|Page)/.test(key);
  if (key === ' ') return Boolean(target.closest('button, a, summary, [role=option], [role=tab]'));
  if (/^(Arrow|Home|End)/.test(key)) return Boolean(target.closest('[role=tab], [role=radio], [role=grid]'));
  return false;
}

function moveRow(store, by) {
  const state = store.get();
  const rows = shownRows(state);
  const at = Math.max(0, Math.min(rows.length - 1, rows.indexOf(state.row) + by));
  store.set({ row: rows[at], touched: true });
}

/** The selected row's first wrong word, else the earliest of any row; without one, the first tear. */
export function toDifference(store, player) {
  const { fold, right, row } = store.get();
  const own = firstWrong(fold, right, row);
  const found = own ? { ...own, row } : laneWrong(fold, right) ?? laneGap(fold, right);
  if (found) jump(store, player, found.step, found.row, { lane: right, row: found.row, index: found.index });
}

/** The first violated invariant of the selected row, else of any row. */
export function toViolation(store, player) {
  const { fold, right, row } = store.get();
  const rows = [row, ...Object.keys(fold?.lanes[right]?.rows ?? {}).map(Number)];
  for (const r of rows) {
    const found = firstViolation(fold, right, r);
    if (found) return jump(store, player, found.step, r, brokenCell(fold, right, r, found));
  }
  return null;
}

function jump(store, player, step, row, cell) {
  player.go(step);
  store.set({ row, cell });
}
