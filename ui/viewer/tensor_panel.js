// One panel: a lane's plot in one view, with the overlays that must not cost a redraw: gutter, focus window,
// selected token, cell cursor. It turns pointer and keys into cells; what a cell means is decided elsewhere.

import { CONFIG } from './plotly.js';
import { at, copyOf } from './tensor_data.js';
import { figureOf } from './tensor_draw.js';
import { boxOf, cellAt, rowOfLine } from './tensor_layout.js';
import { el, place } from './tensor_dom.js';
import { describe, factOf, headline, plotLabel } from './tensor_describe.js';
import { groundOf, scaleOf } from './tensor_scale.js';
import { textOf } from './tensor_text.js';
import { say } from './tensor_words.js';

/** `on`: {select(cell), point(cell), look(panel, slot, row), hover(panel, box, pairs, spoken)}: what it tells its owner. */
export function createPanel(view, on) {
  const head = el('p', 'rg-tn-head');
  const plot = el('div', 'rg-tn-plot', { role: 'img', 'aria-label': say('loading') });
  const [ground, scale, over] = ['rg-tn-under', 'rg-tn-scale', 'rg-tn-over'].map((name) => el('div', name, { 'aria-hidden': 'true' }));
  const wrap = el('div', 'rg-tn-wrap', { role: 'group', tabindex: '0', 'aria-describedby': 'rg-tn-keys' }, [ground, plot, scale, over]);
  const fact = el('p', 'rg-tn-fact');
  const root = el('div', 'rg-tn-panel', {}, [head, wrap, fact]);
  const panel = { view, root, plot, ground, scale, over, wrap, head, fact, on, model: null, cursor: null, key: '' };
  wrap.addEventListener('pointermove', (event) => hover(panel, under(panel, event)));
  wrap.addEventListener('pointerleave', () => hover(panel, null));
  wrap.addEventListener('click', (event) => choose(panel, under(panel, event)));
  wrap.addEventListener('keydown', (event) => press(panel, event));
  wrap.addEventListener('blur', () => setCursor(panel, null));
  return panel;
}

/** Draws `model` = {fold, lane, frame, step, tensor, kinds, geometry, theme, scale}; resolves when it is on screen. */
export async function drawPanel(panel, Plotly, model) {
  panel.model = model;
  const { lane, frame, step, tensor, kinds, geometry } = model;
  const h = headline(lane, frame, step);
  const parts = [el('strong', '', {}, [h.name]), h.when, el('span', 'rg-tn-dims', {}, [h.dims]), h.held && el('em', '', {}, [h.held])];
  panel.head.replaceChildren(...parts.filter(Boolean));
  panel.fact.textContent = factOf(tensor, kinds, frame);
  panel.wrap.setAttribute('aria-label', say('group', { lane: h.name, view: say(`view.${panel.view}`) }));
  panel.wrap.style.height = `${geometry.height}px`;
  if (tensor.missing) return blank(panel, say('absent', { field: tensor.missing, step: frame.step }));
  panel.root.classList.remove('is-blank');
  panel.plot.setAttribute('aria-label', plotLabel(tensor, kinds, lane, frame, step));
  const figure = figureOf(model);
  if (!panel.plot.data) panel.plot.replaceChildren();
  await Plotly.react(panel.plot, figure.data, figure.layout, CONFIG);
  panel.ground.replaceChildren(...groundOf(model));
  panel.scale.replaceChildren(...scaleOf(model), ...textOf(model));
  drawOverlay(panel);
}

/** A panel without data says which field is absent. */
export function blank(panel, why) {
  Object.assign(panel, { model: null, key: '' });
  panel.root.classList.add('is-blank');
  panel.plot.setAttribute('aria-label', why);
  panel.ground.replaceChildren();
  panel.scale.replaceChildren();
  panel.over.replaceChildren(el('p', 'rg-tn-absent', {}, [why]));
}

/** Everything that is not the tensor: cheap DOM boxes over the plot. `cell` is the selected token, `pointed` the one under
 *  the pointer, wherever on the page that is. */
export function drawOverlay(panel, cell = panel.cell, pointed = panel.pointed, broken = panel.broken) {
  Object.assign(panel, { cell, pointed, broken });
  const { model, over } = panel;
  if (!model) return;
  const { geometry } = model;
  const boxes = [];
  for (const { line, count, slot, name } of [...marked(panel, pointed, 'rg-tn-pointed'), ...marked(panel, cell, 'rg-tn-selected')]) {
    for (const zone of ['over', 'focus']) {
      const box = boxOf(geometry, zone, line, slot, count);
      if (box) boxes.push(place(el('i', name), grown(box, 1)));
    }
  }
  boxes.push(...violated(panel));
  const box = panel.cursor && boxOf(geometry, 'focus', panel.cursor.line, panel.cursor.slot);
  if (box) boxes.push(place(el('i', 'rg-tn-cursor'), grown(box, 2)));
  over.replaceChildren(...boxes);
}

/** A frame around the slot where the shown invariant broke, over all lines of its row. */
function violated({ model: { frame, lane, tensor, geometry }, broken }) {
  const n = broken?.lane === lane.name && broken.step === frame.step ? tensor.rows.indexOf(broken.row) : -1;
  if (n < 0) return [];
  const boxes = ['over', 'focus'].map((zone) => boxOf(geometry, zone, n * geometry.per, broken.slot, geometry.per)).filter(Boolean);
  return boxes.map((box) => place(el('i', 'rg-tn-broken'), grown(box, 2)));
}

/** The cells of the selected token in this panel: solid where it is visible, dashed where it is a hidden copy. */
function marked(panel, cell, name) {
  const { frame, tensor, geometry } = panel.model;
  const n = cell ? tensor.rows.indexOf(cell.row) : -1;
  if (n < 0) return [];
  const own = tensor.lane === cell.lane ? '' : ' is-other';
  const cells = (m, line, count) => (m?.owner ?? []).map((owner, slot) => owner === cell.index && {
    line, count, slot, name: `${name}${own}${m.visible[slot] ? '' : ' is-hidden'}`,
  }).filter(Boolean);
  const fed = at(frame.fed, cell.row);
  if (tensor.view === 'move') {
    const [above, below] = copyOf(frame).map((maps) => at(maps, cell.row));
    return [...cells(above, n * 2, 1), ...(tensor.gone.includes(cell.row) ? [] : cells(below, n * 2 + 1, 1))];
  }
  const chosen = tensor.chosen?.filter((c) => c.row === cell.row && frame.length[cell.row] - 1 === cell.index) ?? [];
  return [...cells(fed, n * geometry.per, geometry.per), ...chosen.map(({ slot }) => ({ line: n, count: 1, slot, name: name + own }))];
}

function under(panel, event) {
  if (!panel.model) return null;
  const box = panel.wrap.getBoundingClientRect();
  return cellAt(panel.model.geometry, event.clientX - box.left, event.clientY - box.top);
}

function hover(panel, cell, spoken = false) {
  const token = cell && panel.model ? tokenOf(panel, cell) : null;
  if (JSON.stringify(token) !== JSON.stringify(panel.told ?? null)) panel.on.point(panel.told = token);
  if (!cell || !panel.model) return panel.on.hover(panel, null);
  const { fold, frame, tensor, kinds, geometry } = panel.model;
  const query = panel.view === 'mask' ? tensor.lines[cell.line].query : undefined;
  const pairs = describe({ fold, frame, tensor, kinds, row: rowOfLine(geometry, cell.line), line: cell.line, slot: cell.slot, query });
  return panel.on.hover(panel, boxOf(geometry, cell.zone ?? 'focus', cell.line, cell.slot), pairs, spoken);
}

/** The page's address of a cell's token, {lane, row, index}; null for pads and filler, which belong to no token. */
function tokenOf(panel, { line, slot }) {
  const { frame, tensor, geometry, lane } = panel.model;
  const row = rowOfLine(geometry, line);
  const chosen = tensor.chosen?.some((c) => c.row === row && c.slot === slot);
  const m = at(panel.view === 'move' ? copyOf(frame)[line % 2] : frame.fed, row);
  const index = chosen ? frame.length[row] - 1 : m?.owner[slot] ?? -1;
  return index < 0 ? null : { lane: lane.name, row, index };
}

/** A click or Enter: its token becomes the page's selected cell; the focus window goes there in any case. */
function choose(panel, cell) {
  if (!cell || !panel.model) return;
  const token = tokenOf(panel, cell);
  const { first, columns } = panel.model.geometry.zones.focus;
  const slot = cell.zone === 'over' ? cell.slot : first + Math.ceil(columns / 2); // a click inside the window leaves it where it is
  panel.on.look(panel, slot, rowOfLine(panel.model.geometry, cell.line));
  if (token) panel.on.select(token);
}

function setCursor(panel, cursor) {
  panel.cursor = cursor;
  drawOverlay(panel);
  hover(panel, cursor, true);
}

const STEPS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0], Home: [0, -Infinity], End: [0, Infinity] };

function press(panel, event) {
  if (!panel.model || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key in STEPS) move(panel, STEPS[event.key]);
  else if (event.key === 'Enter' && panel.cursor) choose(panel, panel.cursor);
  else if (event.key === 'Escape' && panel.cursor) {
    setCursor(panel, null);
    panel.on.look(panel, null, null);
  } else return;
  event.preventDefault();
  event.stopPropagation(); // the page's own arrow and Escape keys must not act as well
}

function move(panel, [dy, dx]) {
  const { geometry, tensor } = panel.model;
  const { focus } = geometry.zones;
  const start = { line: focus.lines[0], slot: Math.min(focus.first + focus.columns, tensor.width) - 1 };
  if (!panel.cursor) return setCursor(panel, start);
  const lines = panel.view === 'move' ? tensor.rows.map((_, n) => n * 2 + 1) : tensor.z.map((_, n) => n);
  const clamp = (v, max) => Math.max(0, Math.min(max, v));
  const line = lines[clamp(lines.indexOf(panel.cursor.line) + dy, lines.length - 1)];
  const slot = clamp(panel.cursor.slot + dx, tensor.width - (panel.view === 'kinds' ? 0 : 1));
  const outside = slot < focus.first || slot >= focus.first + focus.columns || !focus.lines.includes(line);
  if (outside) panel.on.look(panel, slot, rowOfLine(geometry, line));
  return setCursor(panel, { line, slot });
}

function grown({ x, y, w, h }, by) {
  return { x: x - by, y: y - by, w: w + 2 * by, h: h + 2 * by };
}
