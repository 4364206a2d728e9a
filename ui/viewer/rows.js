// The row blocks: title, and for each lane its name, ribbon, verdict and text. Ribbons are redrawn at every step;
// blocks and words are rebuilt only when their lanes, rows or tokens change.

import { drawRibbon } from './ribbon.js';
import { buildWords, drawWords } from './words.js';
import { firstBroken, verdictOf } from './verdict.js';
import { firstWrong } from './gaps.js';
import { el, svg } from './svg.js';
import { unchanged, write } from './unchanged.js';
import { t, laneName, laneNote, rowName } from './strings.js';

/** Draws all blocks of `plan` (a layout) into `board`. `act` = {select(row), violation(lane, first, {right})}. */
export function drawRows(board, state, plan, act) {
  const key = [plan.rows, plan.lanes, plan.geo.phone, state.version, state.source.name, state.alias].join('|');
  if (board.dataset.key !== key) {
    board.replaceChildren(...plan.rows.map((row) => block(state, row, plan.lanes, act)));
    board.dataset.key = key;
  }
  board.classList.toggle('still', board.dataset.step === String(state.step)); // only a new round may move
  board.dataset.step = state.step;
  for (const node of board.children) {
    const row = Number(node.dataset.row);
    node.classList.toggle('selected', row === state.row && plan.rows.length > 1);
    for (const lane of node.querySelectorAll('.r-lane')) drawLane(lane, state, plan, row, act);
  }
}

function block(state, row, lanes, act) {
  const prompt = state.fold.header.prompts.find((p) => p.row === row);
  const title = el('div', { class: 'r-title' },
    el('button', { type: 'button', class: 'r-pick', onclick: () => act.select(row) }, rowName(row)),
    el('q', { class: 'r-prompt', dir: 'auto', title: prompt.text }, prompt.text.replace(/\s+/g, ' ')),
    el('span', { class: 'r-count' }, t('promptTokens', { n: prompt.ids.length })));
  return el('section', { class: 'r-row', 'data-row': row, 'aria-label': rowName(row) }, title,
    ...lanes.map((lane, n) => laneBlock(state.fold, lane, row, n ? 'right' : 'left')));
}

/** One lane's places in a row, still empty but for its name and its words. */
export function laneBlock(fold, lane, row, side) {
  const note = laneNote(lane);
  return el('div', { class: `r-lane ${side}`, 'data-lane': lane, 'data-row': row },
    el('div', { class: 'r-name' }, laneName(lane), note && el('small', {}, note), el('small', { class: 'r-done' }), el('small', { class: 'r-offset' }), el('span', { class: 'r-from' })),
    el('div', { class: 'r-draw' }),
    el('div', { class: 'r-verdict' }),
    fold.lanes[lane] ? buildWords(fold, lane, row) : el('div', { class: 'r-words' }));
}

/** Draws a lane at the state's step. */
export function drawLane(node, state, plan, row, act) {
  const lane = node.dataset.lane;
  const ribbon = plan.ribbons[`${lane}/${row}`];
  const place = node.querySelector('.r-draw');
  const old = place.querySelector('.r-ribbon');
  if (ribbon && old) drawRibbon(ribbon, old);
  else place.replaceChildren(ribbon ? drawRibbon(ribbon) : el('span', { class: 'r-empty' }, t('empty')));
  write(node.querySelector('.r-done'), ribbon?.done ? t(state.fold.lanes[lane]?.rows[row].done === 'stopped' ? 'stoppedRow' : 'doneRow') : ''); // it holds its last state
  drawOffset(node.querySelector('.r-offset'), ribbon);
  // where there is no chip to say it: from which position on a long ribbon is shown
  write(node.querySelector('.r-from'), ribbon?.x0 > 0 && plan.geo.phone ? t('from', { x: ribbon.x0 }) : '');
  if (state.fold.lanes[lane]) drawWords(node.querySelector('.r-words'), state.fold, lane, row, state.step);
  drawVerdict(node.querySelector('.r-verdict'), state, lane, row, ribbon, act);
}

/** By how much all positions of the row are shifted: the ruler counts from the prompt's end, so the ribbon cannot show it. */
function drawOffset(node, ribbon) {
  const n = ribbon ? ribbon.origin - ribbon.prompt : 0;
  if (unchanged(node, n)) return;
  node.textContent = n ? t('offset', { by: n > 0 ? `+${n}` : `−${-n}` }) : '';
  node.title = n ? t('offsetWhy', { n: Math.abs(n) }) : '';
}

/** The verdict of the whole run; muted until the clock has reached what it speaks of. */
function drawVerdict(node, state, lane, row, ribbon, act) {
  const verdict = verdictOf(state.fold, lane, row);
  const wrong = firstWrong(state.fold, lane, row);
  const reached = wrong ? state.step >= wrong.step : Boolean(ribbon?.done);
  const told = !state.chapter || state.mayRepair; // a chapter asks for it
  const broken = reached && told && !state.guessing && firstBroken(state.fold, lane, row);
  if (unchanged(node, verdict, reached, broken, state.right)) return;
  node.className = `r-verdict ${verdict.state}${reached ? ' reached' : ''}`;
  node.replaceChildren(icon(verdict.state), el('span', {}, verdict.text),
    broken ? el('button', { type: 'button', class: 'r-broken', onclick: () => act.violation(lane, broken.first, { right: state.right }), title: broken.healed ? t('causeWhy') : null }, broken.text) : '');
}

/** A tick, a torn triangle or a ring of dots: the verdict's form without its colour. */
function icon(state) {
  const shape = {
    equal: 'M2 7l4 4 7-8', bug: 'M7.5 1.5L14 13H1zM7.5 5.5v4m0 1.6v.4', rounding: 'M2 6q3-4 5.5 0t5.5 0M2 10q3-4 5.5 0t5.5 0',
  }[state] ?? 'M3 7.5h.1m4.4 0h.1m4.4 0h.1';
  return svg('svg', { class: 'r-icon', width: 15, height: 15, viewBox: '0 0 15 15', 'aria-hidden': 'true' }, svg('path', { d: shape }));
}
