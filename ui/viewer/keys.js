// Keys, only while the stage has the focus, never while typing or composing. A focused button keeps its Space and
// Enter, a slider its arrows, and inside a line of words the arrows go from word to word.

import { firstStep, lastStep, laneGap, laneWrong, shownRows } from './clock.js';
import { firstViolation, firstWrong } from './gaps.js';
import { VIEWS } from './views.js';

export function mountKeys(stage, store, player, actions) {
  const does = {
    ' ': () => player.toggle(),
    ArrowLeft: () => player.by(-1),
    ArrowRight: () => player.by(1),
    Home: () => player.go(firstStep(store.get())),
    End: () => player.go(lastStep(store.get())),
    ArrowUp: () => moveRow(store, -1),
    ArrowDown: () => moveRow(store, 1),
    d: () => { if (!jump(store, player, differenceOf(...shown(store)))) actions.debug(); }, // D again: token by token
    v: () => actions.violation(),
    i: () => actions.inspect(),
    m: () => actions.micro(),
    r: () => actions.repair(),
    p: () => actions.present(),
    ',': () => player.faster(-1),
    '.': () => player.faster(1),
    l: () => actions.copyLink(),
    o: () => actions.drop(),
    e: () => actions.export(),
    '?': () => actions.help(),
    Escape: () => actions.escape(),
  };
  VIEWS.forEach((view, n) => { does[n + 1] = () => store.set({ view, tensorsOpen: true, touched: true }); });

  stage.addEventListener('keydown', (event) => {
    if (event.isComposing || event.keyCode === 229 || event.defaultPrevented) return;
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (keeps(event.target, key) || !Object.hasOwn(does, key)) return;
    const { guessing, asked } = store.get();
    if ((guessing || asked) && (key === 'd' || key === 'v')) return; // they would answer the open question
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

const shown = (store) => [store.get().fold, store.get().right, store.get().row];

/** The selected row's first wrong word, else the earliest of any row; without one, the first tear: {step, row, cell}. */
export function differenceOf(fold, lane, row) {
  const own = firstWrong(fold, lane, row);
  const found = own ? { ...own, row } : laneWrong(fold, lane) ?? laneGap(fold, lane);
  return found && { step: found.step, row: found.row, cell: { lane, row: found.row, index: found.index } };
}

/** The first violated invariant of the selected row, else of any row: the event's fields and its step, or null. */
export function violationOf(fold, lane, row) {
  const rows = [row, ...Object.keys(fold?.lanes[lane]?.rows ?? {}).map(Number)];
  for (const r of rows) {
    const found = firstViolation(fold, lane, r);
    if (found) return found;
  }
  return null;
}

/** Goes there; false when there is nowhere to go, or it is shown already. */
function jump(store, player, to) {
  const { step, row, cell } = store.get();
  if (!to || (step === to.step && row === to.row && cell?.lane === to.cell?.lane && cell?.index === to.cell?.index)) return false;
  player.go(to.step);
  store.set({ row: to.row, cell: to.cell });
  return true;
}
