// The tensor views: for one step, the KV slots of both lanes as they are in memory, drawn by Plotly.
// state -> tensors (tensor_data) -> px (tensor_layout) -> figure (tensor_draw) -> panel (tensor_panel).
// Draws are serial and coalesced: while one runs, only the newest state waits.

import { frameAt } from './fold.js';
import { plotlyNear } from './plotly.js';
import { buildChrome, showChrome, SIDES } from './tensor_chrome.js';
import { at, axisOf, tensorOf } from './tensor_data.js';
import { layoutPanel, spanOf, tailOf } from './tensor_layout.js';
import { legendOf } from './tensor_legend.js';
import { SEEN_PAD } from './tensor_marks.js';
import { blank, drawOverlay, drawPanel } from './tensor_panel.js';
import { readTheme } from './tensor_theme.js';
import { nextFrame, watchPrint, watchSight, watchSize, watchTheme } from './tensor_watch.js';
import { say } from './tensor_words.js';
import { VIEWS } from './views.js';

const MANY_ROWS = 16; // above this the lines are those of the step's batch, not of the whole run
const NARROW = 640; //   px: below, the views wait behind a button

/** Mounts the views into `box`. Returns {redraw, destroy}. */
export function mountTensors(box, store) {
  const self = {
    box, store, Plotly: null, theme: null, visible: false, printing: false, busy: false, wake() {}, dirty: true, all: false,
    look: { left: null, right: null, row: null }, // where the focus windows look, when somebody moved them
    times: [],
  };
  const refresh = () => { self.dirty = true; run(self); };
  self.ui = buildChrome(box, {
    view(view) { self.all = false; store.set({ view }); refresh(); },
    all() { self.all = true; refresh(); },
    door: () => store.set({ tensorsOpen: !store.get().tensorsOpen }),
    retry: () => start(self),
    select(cell) { self.own = cell; store.set({ cell, row: cell.row }); },
    point: (cell) => store.set({ hover: cell }),
    look(panel, slot, row) { self.look = { ...self.look, [panel.side]: slot, row }; refresh(); },
  });
  const stop = [
    store.subscribe((state, keys) => onState(self, state, keys, refresh)), watchSize(box, refresh),
    watchTheme(() => { self.theme = null; refresh(); }), watchPrint((printing) => { Object.assign(self, { printing, theme: null }); refresh(); self.wake(); }),
    watchSight(box, (seen) => { self.visible = seen; if (seen) refresh(); }),
  ];
  window.__ragged = Object.assign(window.__ragged ?? {}, { tensors: hooks(self) });
  start(self);
  return { redraw: refresh, destroy: () => { stop.forEach((end) => end()); box.replaceChildren(); } };
}

/** A change of the state: overlays follow at once, the plots when their turn comes. */
function onState(self, state, keys, refresh) {
  if (keys?.has('view')) self.all = false;
  // a token or row chosen elsewhere takes the focus windows along; our own choice leaves them where they are
  if ((keys?.has('cell') && state.cell !== self.own) || keys?.has('broken')) self.look = { left: null, right: null, row: null };
  for (const panel of panelsOf(self)) if (panel.key) drawOverlay(panel, state.cell, state.hover, state.broken);
  const idle = ['hover', 'playing', 'speed', 'message', 'touched', 'unfolded'];
  if (!keys || [...keys].some((key) => !idle.includes(key))) refresh();
}

async function start(self) {
  note(self, say('loading'));
  try {
    self.Plotly = await plotlyNear(self.box);
    note(self, '');
    self.dirty = true;
    run(self);
  } catch (error) {
    note(self, say('failed', { why: error.message }), true);
  }
}

/** The draw loop: at most one draw per animation frame, always ending on the newest state. What is printed is printed
 *  before there is another frame, also what is out of sight. */
async function run(self) {
  const wanted = () => self.visible || self.printing;
  if (self.busy || !wanted()) return;
  self.busy = true;
  try {
    while (self.dirty && wanted()) {
      self.dirty = false;
      if (!self.printing) await Promise.race([nextFrame(), new Promise((now) => { self.wake = now; })]);
      const began = performance.now();
      const drawn = await draw(self);
      if (drawn) self.times = [...self.times.slice(-199), { ms: performance.now() - began, plots: drawn }];
    }
  } catch (error) {
    note(self, say('failed', { why: error.message }), true);
    console.error(error);
  } finally {
    self.busy = false;
  }
}

/** Draws what is open at the newest state; returns how many plots had to change. */
async function draw(self) {
  const state = self.store.get();
  const open = self.box.clientWidth >= NARROW || Boolean(state.tensorsOpen);
  const views = self.all ? VIEWS : [VIEWS.includes(state.view) ? state.view : 'kinds'];
  self.ui.root.classList.toggle('is-narrow', self.box.clientWidth < NARROW);
  showChrome(self.ui, { open, views, all: self.all });
  if (!open || !self.Plotly) return 0;
  self.theme ??= readTheme(self.ui.root);
  const scene = { ...sceneOf(state), theme: self.theme }; // it may change between two panels: then all are drawn again
  const sides = state.left === state.right ? SIDES.slice(0, 1) : SIDES; // one lane is drawn once
  let drawn = 0;
  for (const view of views) {
    const { legend, panels } = self.ui.blocks[view];
    for (const side of SIDES) panels[side].root.hidden = !sides.includes(side);
    for (const side of sides) drawn += await drawSide(self, state, scene, view, panels[side]);
    const present = new Set(sides.flatMap((side) => panels[side].model?.kinds.z?.flat() ?? []));
    if (sides.some((side) => Object.values(panels[side].model?.tensor.padSeen ?? {}).some(({ size }) => size))) present.add(SEEN_PAD);
    legend.replaceChildren(...legendOf(view, scene.scale, present));
  }
  goTo(self, state.broken, views[0]);
  return drawn;
}

/** Once for each violation that is shown: its panel comes up, with the sentence above it where there is room. */
function goTo(self, broken, view) {
  if (!broken || broken === self.shown) return;
  const panel = SIDES.map((side) => self.ui.blocks[view].panels[side]).find(({ model }) => model?.lane.name === broken.lane);
  if (!panel) return;
  self.shown = broken;
  panel.root.scrollIntoView({ block: 'end' });
}

/** What both panels share at this step: frames, lines, slots, the colour scale of the positions. */
function sceneOf(state) {
  const lanes = Object.fromEntries(SIDES.map((side) => [side, at(state.fold?.lanes, state[side])]));
  const both = Object.values(lanes).filter(Boolean);
  const frames = Object.fromEntries(SIDES.map((side) => [side, frameAt(lanes[side], state.step)]));
  const axis = axisOf(Object.values(frames).filter(Boolean));
  const live = axis.rows;
  const ever = [...new Set(both.flatMap((lane) => lane.frames.flatMap((frame) => frame.rows)))].sort((a, b) => a - b);
  if (ever.length <= MANY_ROWS) axis.rows = ever;
  const off = both.flatMap((lane) => lane.frames.slice(-1)).flatMap((frame) => (
    tensorOf(state.fold, at(state.fold.lanes, frame.lane), frame, 'positions').z ?? []));
  const worst = off.flat().reduce((most, v) => Math.max(most, Math.abs(v ?? 0)), 1);
  return { lanes, frames, axis, live, span: spanOf(both), scale: [4, 8, 12, 16, 24, 32, 48, 64, 96, 128].find((s) => s >= worst) ?? 256 };
}

async function drawSide(self, state, scene, view, panel) {
  const [lane, frame, width] = [scene.lanes[panel.side], scene.frames[panel.side], Math.floor(panel.wrap.clientWidth)];
  if (!width) return 0;
  if (!frame?.positions.length) { blank(panel, say('noFrame')); return 0; }
  const row = [self.look.row, state.cell?.row, state.row].find((r) => scene.live.includes(r)) ?? scene.live[0];
  const shape = { view, axis: scene.axis, width, span: scene.span, row };
  const { columns } = layoutPanel({ ...shape, focus: 0 }).zones.focus;
  const tail = tailOf(view, frame, columns);
  const broken = state.broken?.step === frame.step && state.broken.slot >= 0 ? state.broken.slot : null;
  const want = self.look[panel.side] ?? broken ?? slotOf(frame, state.cell) ?? tail;
  const focus = want > tail - Math.floor(columns / 2) ? tail : want; // a token in the tail window needs no other one
  const geometry = layoutPanel({ ...shape, focus });
  const near = geometry.zones.focus;
  const key = JSON.stringify([width, scene.axis, scene.span, scene.scale, near.first, near.lines, state.step, lane.name,
    lane.status, frame.step, frame.complete ? 0 : state.fold.last_seq, scene.theme.paper, scene.theme.ink, state.alias]);
  if (panel.key === key && panel.fold === state.fold) return 0;
  const kinds = tensorOf(state.fold, lane, frame, 'kinds', scene.axis);
  const tensor = view === 'kinds' ? kinds : tensorOf(state.fold, lane, frame, view, scene.axis);
  Object.assign(panel, { cell: state.cell, broken: state.broken });
  const { theme } = scene;
  await drawPanel(panel, self.Plotly, { fold: state.fold, lane, frame, step: state.step, tensor, kinds, geometry, theme, scale: scene.scale });
  Object.assign(panel, { key, fold: state.fold });
  return 1;
}

/** The slot where this lane holds the selected token, so that both focus windows look at the same token. */
function slotOf(frame, cell) {
  const m = cell && at(frame.fed, cell.row);
  if (!m) return null;
  const shown = m.owner.findIndex((owner, slot) => owner === cell.index && m.visible[slot]);
  const slot = shown >= 0 ? shown : m.owner.lastIndexOf(cell.index);
  return slot >= 0 ? slot : null;
}

function panelsOf(self) {
  return Object.values(self.ui.blocks).flatMap((block) => SIDES.map((side) => block.panels[side]));
}

function note(self, words, retry = false) {
  self.ui.status.textContent = words;
  self.ui.retry.hidden = !retry;
}

/** For tests. `data`: the matrices of a view as they go to Plotly. `drawn`: what Plotly holds, per open view. */
function hooks(self) {
  return {
    data(name, step, view) {
      const state = self.store.get();
      const lane = at(state.fold.lanes, name);
      return tensorOf(state.fold, lane, frameAt(lane, step), view, sceneOf({ ...state, step }).axis);
    },
    drawn(view = null) {
      const block = Object.values(self.ui.blocks).find((b) => (view ? b.view === view : !b.root.hidden));
      return { view: block?.view, ...Object.fromEntries(SIDES.map((side) => [side, block?.panels[side].plot.data ?? null])) };
    },
    times: () => self.times.slice(),
    idle: () => Boolean(self.Plotly) && !self.busy && !self.dirty,
  };
}
