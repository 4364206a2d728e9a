// Boot. Paints the hero without Gradio, then moves the same stage into Gradio's page when that has come up.

import { Fold, fold, parseTrace } from './fold.js';
import { createStore } from './store.js';
import { createSource } from './source.js';
import { createPlayer, openingStop } from './player.js';
import { buildStage, drawStage } from './stage.js';
import { mountTransport } from './transport.js';
import { mountCaption } from './caption.js';
import { mountTable } from './table.js';
import { mountRepair } from './repair.js';
import { mountCursor } from './cursor.js';
import { mountKeys } from './keys.js';
import { mountLink, readLink } from './link.js';
import { mountFoot, waitFor } from './foot.js';
import { mountHelp } from './help.js';
import { drawCompareButtons } from './compare_button.js';
import { mountBreakpoint } from './breakpoint.js';
import { mountPanels } from './panels.js';
import { mountModes } from './modes.js';
import { holdFocus } from './hold_focus.js';
import { startTheme, toggleTheme } from './theme.js';
import { lastStep, rowOrder, tellingWrong } from './clock.js';
import { geometry } from './layout.js';

const page = JSON.parse(document.getElementById('ragged-page')?.textContent || '{}');
const hero = document.getElementById('ragged-hero')?.textContent ?? '';
const embedded = hero.trim() ? { hero } : {};

startTheme();
const store = createStore();
const player = createPlayer(store);
const source = createSource(store, embedded);
const act = {
  select: (row) => store.set({ row, cell: null, touched: true }),
  jump(step, row, cell) {
    player.go(step ?? store.get().step);
    store.set({ row, cell });
  },
};
const actions = {
  theme: toggleTheme,
  help: () => openHelp(),
  allRows: () => store.set({ allRows: !store.get().allRows }),
  unfold: () => store.set({ unfolded: !store.get().unfolded }),
  copyLink: () => foot.copyLink(),
  debug: (row) => panels.debug(row),
  inspect: () => panels.inspect(),
  repair: () => at.repair.querySelector('button').click(),
  present: () => modes.present(),
  escape: () => panels.escape(),
};
const at = buildStage(actions);
const openHelp = mountHelp(at.stage);
document.body.prepend(at.stage);
const panels = mountPanels(at, store, act);
const draw = (state) => holdFocus(at.board, () => {
  drawStage(at, state, act);
  if (state.fold?.header) drawCompareButtons(at.board, state, panels.debug);
});

store.subscribe((state, changed) => {
  if (![...changed].every((key) => ['hover', 'cell', 'message', 'touched', 'speed', 'tensorsOpen', 'view', 'inspect', 'stopEmpty'].includes(key))) draw(state);
});
mountTransport(at.transport, store, player);
mountCaption(at.say, at.live, store);
mountTable(at.table, store);
mountRepair(at.repair, store);
mountCursor(at.board, store);
at.board.addEventListener('click', ({ target }) => { if (target.closest('.r-chip')) actions.unfold(); });
mountBreakpoint(store, player);
const modes = mountModes(at, store);
mountKeys(at.stage, store, player, actions);
const foot = mountFoot(at.foot, store, page, embedded, (name) => openTrace({ trace: name }));
mountLink(store, openTrace);
const fit = () => store.set({ oneRow: geometry(at.board.clientWidth).phone });
fit();
new ResizeObserver(() => {
  fit();
  draw(store.get());
}).observe(at.board);

/** Opens what a link names. Without a named round the hero plays by itself, once. */
async function openTrace(link) {
  player.stop();
  if (!(await source.open(link.trace ?? 'hero'))) return;
  const state = store.get();
  if (!state.fold?.header || state.live) return;
  const named = link.right ?? (link.cell?.lane !== state.left ? link.cell?.lane : undefined);
  const right = state.fold.lanes[named] ? named : state.fold.lanes.bsp ? 'bsp' : state.right;
  const telling = tellingWrong({ ...state, right, oneRow: false })?.row ?? rowOrder(state.fold).at(-1);
  const row = state.fold.header.prompts.some((p) => p.row === link.row) ? link.row : telling;
  const cell = state.fold.lanes[link.cell?.lane]?.rows[link.cell?.row] ? link.cell : null;
  const step = Math.min(link.step ?? 0, lastStep({ ...state, right }));
  store.set({ row, right, cell, step, ...(link.view ? { view: link.view, tensorsOpen: true } : {}), ...panels.named(link) });
  if (link.step !== undefined || link.chapter) return;
  if (matchMedia('(prefers-reduced-motion: reduce)').matches) store.set({ step: openingStop(store.get()) });
  else whenVisible(() => player.opening());
}

function whenVisible(then) {
  if (document.visibilityState === 'visible') return then();
  return document.addEventListener('visibilitychange', then, { once: true });
}

openTrace(readLink());

// Gradio hydrates later and may replace what is in <body>: the stage moves over as it is, with its state and focus.
waitFor('ragged-mount', (mount) => {
  const focused = at.stage.contains(document.activeElement) ? document.activeElement : null;
  mount.append(at.stage);
  focused?.focus({ preventScroll: true });
});

// The Gradio side tells of runs: {run, status, message}.
let following = null;
window.addEventListener('ragged:run', ({ detail }) => {
  const { run, status, message } = detail ?? {};
  if (run && run !== following) {
    following = run;
    source.live(run);
    at.stage.scrollIntoView({ block: 'start' }); // the form is below: what it started is up here
  }
  if (message || status) store.set({ message: message || status });
});

import('./tensors.js')
  .then(({ mountTensors }) => mountTensors(at.tensors, store))
  .catch((error) => { at.tensors.hidden = true; console.warn(`tensor views: ${error.message}`); });

import('./lessons.js')
  .then(({ mountLessons }) => mountLessons(at, store, player, page))
  .catch((error) => console.warn(`chapters: ${error.message}`));

window.__ragged = { store, Fold, fold, parseTrace, player, source };
