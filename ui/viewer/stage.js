// The stage's skeleton, top to bottom, and the one function that redraws it from the state.

import { layout } from './layout.js';
import { drawClaim, gist } from './claim.js';
import { drawRows } from './rows.js';
import { stageOrder } from './clock.js';
import { keptBack } from './verdict.js';
import { el, svg } from './svg.js';
import { t, rowName } from './strings.js';
import { unchanged, write } from './unchanged.js';

/** Builds the empty stage. Returns its named places. */
export function buildStage(actions) {
  const at = {
    claim: el('h1', { class: 'r-claim' }),
    gist: el('p', { class: 'r-gist' }, t('gist')),
    legend: el('div', { class: 'r-legend', role: 'group', 'aria-label': t('legend') }),
    ruler: el('div', { class: 'r-ruler', 'aria-hidden': 'true' }),
    chips: el('div', { class: 'r-chips', role: 'group', 'aria-label': t('chooseRow') }),
    board: el('div', { class: 'r-rows' }),
    more: el('button', { type: 'button', class: 'r-text', hidden: true, onclick: actions.allRows }),
    transport: el('div', { class: 'r-transport' }),
    say: el('div', { class: 'r-say' }),
    repair: el('div', { class: 'r-act' }),
    foot: el('div', { class: 'r-foot' }),
    tensors: el('div', { id: 'ragged-tensors' }),
    extra: el('span', { class: 'r-extra' }),
    live: el('p', { class: 'r-hidden', 'aria-live': 'polite' }),
    table: el('div', { class: 'r-hidden' }),
  };
  at.line = el('div', { class: 'r-line' }, at.legend, at.foot);
  at.below = el('div', { class: 'r-below' }, at.say, at.repair);
  const tool = (label, glyph, onclick) => el('button', { type: 'button', class: 'r-tool', 'aria-label': label, title: label, onclick }, glyph);
  const half = svg('svg', { width: 18, height: 18, viewBox: '0 0 18 18', 'aria-hidden': 'true' },
    svg('circle', { cx: 9, cy: 9, r: 7, class: 'line' }), svg('path', { d: 'M9 2a7 7 0 0 1 0 14z', class: 'solid' }));
  at.tools = el('div', { class: 'r-tools' }, at.extra, tool(t('theme'), half, actions.theme), tool(t('help'), '?', actions.help));
  at.stage = el('section', { id: 'ragged-stage', class: 'r-stage', tabindex: -1, 'aria-label': t('stage') },
    el('header', { class: 'r-head' }, el('div', { class: 'r-titles' }, at.claim, at.gist), at.tools),
    at.line,
    el('div', { class: 'r-board', tabindex: 0, role: 'group', 'aria-label': t('stage') }, at.chips, at.ruler, at.board, at.more),
    at.transport,
    at.below,
    at.tensors, at.live, at.table);
  drawLegend(at.legend, actions);
  return at;
}

function drawLegend(node, actions) {
  const cell = (kind) => svg('g', { class: `r-cell ${kind}` }, svg('rect', { class: 'face', x: 0.5, y: 0.5, width: 14, height: 14 }),
    kind === 'new' ? svg('path', { class: 'bar', d: 'M2 12h11' }) : null, kind.startsWith('target') ? svg('circle', { class: 'ring', cx: 7.5, cy: 7.5, r: 4 }) : null);
  const dead = svg('g', { class: 'r-dead fresh' }, svg('rect', { x: 1.5, y: 3.5, width: 11, height: 8 }), svg('path', { d: 'M1.5 3.5l11 8m0 -8l-11 8' }));
  const dots = svg('g', {}, ...[3.5, 11.5, 19.5].map((cx) => svg('circle', { class: 'r-pad', cx, cy: 8, r: 1.6 })));
  const edge = (x, d) => svg('g', { class: 'r-cell kept' }, svg('path', { class: 'face', d: d, transform: `translate(${x} 0)` }));
  const gap = svg('g', {}, edge(0.5, 'M0 .5h8l-3 3.5 3 3.5 -3 3.5 3 3.5h-8z'), svg('g', { class: 'r-tear' }, svg('text', { x: 22, y: 12, 'text-anchor': 'middle' }, t('gapSize', { n: 3 }))),
    edge(35, 'M0 .5h8v14h-8l3 -3.5 -3 -3.5 3 -3.5z'));
  const item = (key, width, ...drawings) => el('span', { class: 'r-key' },
    svg('svg', { width, height: 15, viewBox: `0 0 ${width} 15`, 'aria-hidden': 'true' }, ...drawings), t(key));
  const unfold = el('button', { type: 'button', class: 'r-text r-unfold', 'aria-pressed': 'false', onclick: actions.unfold }, t('unfoldPrompts'));
  node.append(item('kept', 15, cell('kept')), item('fresh', 15, cell('new')), item('target', 15, cell('target unfed')),
    item('rejected', 15, dead), item('gap', 45, gap), item('padSlot', 23, dots), item('unfed', 15, cell('kept unfed')), unfold, el('span', { class: 'r-order', hidden: true }, t('rowOrder')));
}

/** Draws the state into the stage. */
export function drawStage(at, state, act) {
  if (!state.fold?.header) return drawClaim(at.claim, state);
  const plan = layout(state, at.board.clientWidth);
  at.stage.classList.toggle('phone', plan.geo.phone);
  at.stage.classList.toggle('guessing', keptBack(state));
  at.stage.classList.toggle('blind', keptBack(state) && !state.sole); // `sole`: one difference is what is asked about
  at.stage.classList.toggle('held', state.guessing === 'bet');
  placeFoot(at, plan.geo.phone, Boolean(state.chapter));
  if (!unchanged(at.stage, plan.geo)) {
    for (const name of ['label', 'chip', 'verdict']) at.stage.style.setProperty(`--r-${name}`, `${plan.geo[name]}px`); // all that is below takes them over
  }
  drawClaim(at.claim, state, plan.geo.phone);
  write(at.gist, gist(state));
  drawRuler(at.ruler, plan);
  drawChips(at.chips, state, plan, act);
  drawRows(at.board, state, plan, act);
  const unfold = at.legend.querySelector('.r-unfold');
  write(unfold, t(state.unfolded ? 'foldPrompts' : 'unfoldPrompts'));
  unfold.setAttribute('aria-pressed', String(state.unfolded));
  const order = stageOrder(state);
  const many = order.length;
  const hint = at.legend.querySelector('.r-order');
  hint.style.visibility = plan.rows.length < 2 ? 'hidden' : ''; // its place stays: what is below must not move
  hint.hidden = order.every((row, n) => !n || row > order[n - 1]); // as in the list of prompts
  at.more.hidden = plan.geo.phone || many <= 4 || state.sole;
  write(at.more, state.allRows ? t('fewRows') : t('allRows', { n: many }));
  return plan;
}

/** The quiet line: beside the legend; on a phone, and where a chapter needs the room, below everything that explains. */
function placeFoot(at, phone, chapter) {
  const below = phone || chapter;
  if (below === (at.foot.parentElement !== at.line) && phone === (at.extra.parentElement === at.foot)) return;
  const active = document.activeElement; // a node that moves loses the focus
  if (below) at.below.after(at.foot);
  else at.line.append(at.foot);
  if (at.foot.contains(active)) active.focus({ preventScroll: true });
  if (phone) at.foot.append(at.extra); // no room above
  else at.tools.prepend(at.extra);
}

function drawRuler(node, { ruler, geo }) {
  node.style.visibility = ruler ? '' : 'hidden'; // its place stays: rows that scroll apart must not move
  if (!ruler || unchanged(node, ruler, geo.chip)) return;
  const ticks = ruler.ticks.map(({ x, left }) => svg('g', { transform: `translate(${left + 0.5} 0)` },
    svg('path', { d: 'M0 14v6' }), svg('text', { x: 0, y: 11, 'text-anchor': x ? 'middle' : 'start' }, x === 0 ? '0' : String(x))));
  node.replaceChildren(el('span', { class: 'r-rulername', title: t('rulerZero') }, t('ruler')), svg('svg', { width: ruler.width - geo.chip, height: 20, viewBox: `${geo.chip} 0 ${ruler.width - geo.chip} 20` }, ...ticks),
    el('span', { class: 'r-against' }, t('against')));
}

function drawChips(node, state, plan, act) {
  node.hidden = !plan.geo.phone;
  if (node.hidden) return;
  const rows = stageOrder(state);
  node.replaceChildren(...rows.map((row) => el('button', {
    type: 'button', 'aria-pressed': String(row === state.row), 'aria-label': rowName(row), onclick: () => act.select(row),
  }, rows.length > 4 ? String(row + 1) : rowName(row))));
}
