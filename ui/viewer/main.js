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
import { light, mountCursor } from './cursor.js';
import { mountKeys, violationOf } from './keys.js';
import { mountLink, readLink, shareUrl } from './link.js';
import { mountFoot, waitFor } from './foot.js';
import { mountHelp } from './help.js';
import { laneLong, setAlias, t } from './strings.js';
import { drawCompareButtons } from './compare_button.js';
import { keepRoom } from './room.js';
import { mountBreakpoint } from './breakpoint.js';
import { mountPanels } from './panels.js';
import { mountModes } from './modes.js';
import { holdFocus } from './hold_focus.js';
import { startTheme, toggleTheme } from './theme.js';
import { placeOf } from './place.js';
import { VIEW_OF } from './reason.js';
import { firstStep, lastStep, rowOrder, tellingWrong } from './clock.js';
import { geometry } from './layout.js';

const page = JSON.parse(document.getElementById('ragged-page')?.textContent || '{}');
const hero = document.getElementById('ragged-hero')?.textContent ?? '';
const embedded = hero.trim() ? { hero } : {};
for (const { dataset, textContent } of document.querySelectorAll('script[data-trace]')) embedded[dataset.trace] = textContent; // a saved page

startTheme();
const store = createStore();
store.subscribe(({ alias }) => setAlias(alias)); // before whoever draws
const player = createPlayer(store);
const source = createSource(store, embedded, page);
const act = {
  select: (row) => store.set({ row, cell: null, touched: true }),
  jump(step, row, cell) {
    player.go(step ?? store.get().step);
    store.set({ row, cell });
  },
  /** Where an invariant broke: round, row and slot, in the view that shows it, with the sentence that says why. `look`: the
   *  views come onto the screen; `right`: the lane that stands below then. */
  violation(lane, first, { look = true, right = lane } = {}) {
    const [step, row, cell] = placeOf(store.get(), { lane, first });
    store.set({ right, view: VIEW_OF[first.invariant] ?? 'kinds', tensorsOpen: true, broken: { lane, row, slot: first.slot, step }, touched: true });
    act.jump(step, row, cell);
    if (look) requestAnimationFrame(() => requestAnimationFrame(() => at.tensors.scrollIntoView({ block: 'nearest' }))); // the views draw when they are seen, and go on to the slot
  },
  note: () => tools().then(({ note }) => note.edit()),
  url: () => shareUrl(store.get(), page.space),
};
const actions = {
  theme: toggleTheme,
  help: () => openHelp(),
  allRows: () => store.set({ allRows: !store.get().allRows }),
  unfold: () => store.set({ unfolded: !store.get().unfolded }),
  copyLink: () => foot.copyLink(),
  debug: (row) => panels.debug(row),
  inspect: () => panels.inspect(),
  violation() { // of the selected row, else of any
    const { fold, right, row } = store.get();
    const first = violationOf(fold, right, row);
    if (first) act.violation(right, first);
  },
  repair: () => at.repair.querySelector('button:not([hidden])')?.click(),
  present: () => modes.present(),
  drop: () => tools().then(({ drop }) => drop.open()),
  micro: () => tools().then(({ micro }) => micro.toggle()),
  export: () => { if (!page.saved) tools().then(({ saver }) => saver.open()); },
  escape: () => panels.escape(),
};
const at = buildStage(actions);
const openHelp = mountHelp(at.stage);
document.body.prepend(at.stage);
const panels = mountPanels(at, store, act);
const draw = (state) => holdFocus(at.board, () => {
  const plan = drawStage(at, state, act);
  if (!state.fold?.header) return;
  drawCompareButtons(at.board, state, panels.debug);
  keepRoom(at, state, plan, act);
  light(at.board, state);
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
let loading = null;
const tools = () => (loading ??= import('./tools.js').then(({ mountTools }) => mountTools(at, store, source, page, {
  show: showFile,
  open: openTrace,
  jump(step, row, cell, right) {
    store.set({ right });
    act.jump(step, row, cell);
  },
  violation: act.violation,
})));
const modes = mountModes(at, store);
mountKeys(at.stage, store, player, actions);
const foot = mountFoot(at, store, page, embedded, (name) => openTrace({ trace: name }), actions);
mountLink(store, openTrace);
/** One row where there is no room for more: on a phone, and where a presenter's rows do not fit the screen. */
function fit() {
  let oneRow = geometry(at.board.clientWidth).phone;
  if (!oneRow && modes.presenting()) {
    draw({ ...store.get(), oneRow });
    oneRow = modes.tooHigh();
  }
  store.set({ oneRow });
  draw(store.get());
}
fit();
new ResizeObserver(fit).observe(at.board);
window.addEventListener('resize', fit); // a window may change its height alone

/** Opens what a link names. Without a named round the hero plays by itself, once. */
async function openTrace(link) {
  player.stop();
  const { trace = page.source?.name ?? 'hero' } = link;
  const file = trace.startsWith('file:') && !Object.hasOwn(embedded, trace);
  const kept = file && (await tools()).drop.kept(trace);
  if (kept) return showFile(kept, link);
  if (file) (await tools()).drop.ask(link);
  const opened = await source.open(file ? 'hero' : trace);
  if (trace.startsWith('run:')) window.dispatchEvent(new CustomEvent('ragged:opened', { detail: trace.slice('run:'.length) })); // the form's Stop
  if (!opened || !store.get().fold?.header || store.get().live) return;
  place(file || store.get().awaited ? { step: 0 } : link);
}

/** A dropped file that has been checked: on the stage, at what the link names. */
function showFile(result, link) {
  player.stop();
  source.file(result);
  place(link);
}

/** Goes where a link leads, in the trace that is open. */
function place(link) {
  const state = store.get();
  const has = (name) => Object.hasOwn(state.fold.lanes, name ?? '');
  const left = has(link.left) ? link.left : state.left;
  const named = link.right ?? (link.cell?.lane !== left ? link.cell?.lane : undefined);
  const right = has(named) ? named : has('bsp') ? 'bsp' : state.right;
  const beside = left !== right || has(link.left) ? left : Object.keys(state.fold.lanes).find((name) => name !== right) ?? left;
  const telling = tellingWrong({ ...state, left: beside, right, oneRow: false })?.row ?? rowOrder(state.fold).at(-1);
  const row = state.fold.header.prompts.some((p) => p.row === link.row) ? link.row : telling;
  const asked = link.chapter ? {} : link; // a chapter sets its own stage and takes its link's note itself
  const there = (at) => (has(at?.lane) && state.fold.lanes[at.lane].rows[at.row]?.ids.length > at.index ? at : null);
  const [cell, note] = [there(asked.cell), there(asked.note)];
  const shown = { ...state, left: beside, right };
  const step = Math.max(firstStep(shown), Math.min(link.step ?? 0, lastStep(shown)));
  store.set({ row, left: beside, right, cell, note, step, ...(link.view ? { view: link.view, tensorsOpen: true } : {}), ...panels.named({ ...link, cell }) });
  const lost = asked.cell && !cell ? asked.cell : !note && asked.note;
  if (lost) store.set({ message: t('noCell', { lane: laneLong(lost.lane), row: lost.row + 1, index: lost.index }), touched: true }); // so that the address drops it, too
  if (link.step !== undefined || link.chapter) return;
  if (matchMedia('(prefers-reduced-motion: reduce)').matches) store.set({ step: openingStop(store.get()) });
  else whenVisible(() => player.opening());
}

function whenVisible(then) {
  if (document.visibilityState === 'visible') return then();
  return document.addEventListener('visibilitychange', then, { once: true });
}

openTrace(readLink(location.search || page.link)).finally(() => requestAnimationFrame(() => setTimeout(loadMore)));

// Gradio hydrates later and may replace what is in <body>: the stage moves over as it is, with its state and focus.
waitFor('ragged-mount', (mount) => {
  const focused = at.stage.contains(document.activeElement) ? document.activeElement : null;
  mount.append(at.stage);
  focused?.focus({ preventScroll: true });
});

// The Gradio side tells of runs: {run, status, message}.
window.addEventListener('ragged:run', ({ detail }) => {
  const { run, status, message } = detail ?? {};
  if (run && run !== source.followed()) {
    source.live(run);
    at.stage.scrollIntoView({ block: 'start' }); // the form is below: what it started is up here
  }
  const { source: { kind, name }, awaited } = store.get();
  const here = run === awaited || (kind === 'live' && run === name);
  const words = message || status;
  if (words) store.set({ message: run && !here ? t('otherRun', { run: run.slice(0, 8), words }) : words });
});

/** What the first frame does not show: its modules come when that has been drawn. */
function loadMore() {
  tools().catch((error) => console.warn(`tools: ${error.message}`));
  if (!page.saved || page.tensors) import('./tensors.js')
    .then(({ mountTensors }) => mountTensors(at.tensors, store))
    .catch((error) => { at.tensors.hidden = true; console.warn(`tensor views: ${error.message}`); });
  if (!page.saved || embedded.hero) import('./lessons.js')
    .then(({ mountLessons }) => mountLessons(at, store, player, page, embedded))
    .catch((error) => console.warn(`chapters: ${error.message}`));
}

at.tensors.hidden = Boolean(page.saved && !page.tensors);
window.__ragged = { store, Fold, fold, parseTrace, player, source, build: async (tensors) => (await tools()).saver.build(tensors) };
