// The inspector: opens in place at the first click on a cell, below what was clicked, so that nothing under the pointer
// moves. Says all that is known of the pinned token and from which event and field it was read.

import { factsOf } from './facts.js';
import { holdFocus } from './hold_focus.js';
import { tokenNode } from './token_text.js';
import { el } from './svg.js';
import { t, laneLong, laneName } from './strings.js';

/** Nothing in the panel depends on these. A button that is drawn anew under the finger would lose its click. */
const APART = ['hover', 'message', 'touched', 'speed', 'view', 'tensorsOpen', 'stopEmpty'];

/** Builds the panel into `node`. `act` = {jump(step, row, cell), close(), steady(draw)}. */
export function mountInspector(node, store, act) {
  const title = el('h2', { tabindex: -1, id: 'r-inspect-title' });
  const close = el('button', { type: 'button', class: 'r-tool', 'aria-label': t('close'), title: t('close'), onclick: act.close }, '×');
  const tools = el('div', { class: 'r-itools' });
  const body = el('div', { class: 'r-groups' });
  node.setAttribute('aria-labelledby', 'r-inspect-title');
  node.append(el('header', { class: 'r-phead' }, title, tools, close), body);
  store.subscribe((state, changed) => {
    const cell = state.inspect && !state.guessing ? state.cell : null; // it would answer the open question
    const found = cell && factsOf(state, cell);
    node.hidden = !found;
    if (!found || [...changed].every((key) => APART.includes(key))) return;
    const redraw = () => holdFocus(node, () => draw({ title, tools, body }, state, found, act));
    if (changed.has('step') && !changed.has('cell')) act.steady(redraw);
    else redraw();
  });
  return { focus: () => title.focus({ preventScroll: true }) };
}

function draw({ title, tools, body }, state, found, act) {
  const { fold } = state;
  const n = found.generated;
  const where = t(n < 0 ? 'inspect.titlePrompt' : 'inspect.title', { lane: laneLong(found.lane), row: found.row + 1, n: n < 0 ? found.index + 1 : n + 1 });
  title.replaceChildren(tokenNode(fold, found.id, 'span', 'big'), ' ', where, el('small', {}, t(found.later ? 'inspect.later' : 'inspect.round', found)));
  tools.replaceChildren(...moves(state, found, act));
  body.replaceChildren(...found.columns.map((groups) => el('div', {}, ...groups.map((group) => drawGroup(fold, group, found.step)))));
}

/** To the neighbours in the text, to the same token in the other lane, to the round that wrote it. */
function moves(state, found, act) {
  const { lane, row, index } = found;
  const length = state.fold.lanes[lane].rows[row].ids.length;
  const other = lane === state.left ? state.right : state.left;
  const button = (key, words, cell, step = null) => el('button', { type: 'button', class: 'r-text', 'data-key': `inspect/${key}`, onclick: () => act.jump(step, row, cell) }, words);
  const has = (name) => name !== lane && state.fold.lanes[name]?.rows[row]?.ids.length > index;
  return [
    index > 0 && button('previous', t('inspect.previous'), { lane, row, index: index - 1 }),
    index + 1 < length && button('next', t('inspect.next'), { lane, row, index: index + 1 }),
    has(other) && button('other', t('inspect.other', { lane: laneName(other) }), { lane: other, row, index }),
    el('button', { type: 'button', class: 'r-text', 'data-key': 'inspect/note', onclick: act.note }, t('note.add')),
    found.born !== null && found.born !== state.step && button('born', t('inspect.toBorn', { step: found.born }), { lane, row, index }, found.born),
  ].filter(Boolean);
}

function drawGroup(fold, { key, facts }, step) {
  return el('section', { 'aria-label': t(`inspect.group.${key}`, { step }) }, el('h3', {}, t(`inspect.group.${key}`, { step })),
    el('dl', {}, ...facts.map((each) => drawFact(fold, each))));
}

/** Term, value, source. A value that should be another one is marked with a sign, not by colour alone. */
function drawFact(fold, { key, value, from, step, mark, absent }) {
  const source = from && (step === undefined ? from : t('debug.at', { from, step }));
  const words = absent ? t('inspect.carriedBy', { why: value, from }) : null;
  return el('div', { class: `r-fact${absent ? ' absent' : ''}${mark ? ` ${mark}` : ''}`, 'data-fact': key },
    el('dt', {}, t(`inspect.term.${key}`)),
    el('dd', {}, words ?? valueNode(fold, value), !absent && source && el('code', {}, source)));
}

function valueNode(fold, value) {
  if (value === null || typeof value !== 'object') return el('span', { class: 'value' }, String(value));
  return el('span', { class: 'value' }, tokenNode(fold, value.id), el('small', {}, ` ${value.id} `), value.words);
}
