// The divergence debugger: opens in place below the caption. Every row in one line, the selected one in full.
// Nothing after the first difference is counted: from there on the two texts are different texts.

import { copyText } from './copy.js';
import { alignRow } from './align.js';
import { drawRow } from './debugger_row.js';
import { holdFocus } from './hold_focus.js';
import { rowOrder } from './clock.js';
import { verdictOf } from './verdict.js';
import { differenceOf, violationOf } from './keys.js';
import { el } from './svg.js';
import { t, laneLong, rowName } from './strings.js';

const SHOWS = ['fold', 'version', 'debug', 'row', 'left', 'right'];

/** Builds the panel into `node`. `act` = {jump(step, row, cell), violation(lane, first, {look}), close()}. */
export function mountDebugger(node, store, act) {
  const title = el('h2', { tabindex: -1, id: 'r-debug-title' });
  const option = el('input', { type: 'checkbox', onchange: () => store.set({ stopEmpty: option.checked }) });
  const said = el('span', { class: 'r-note', role: 'status' });
  const copy = el('button', { type: 'button', class: 'r-text', onclick: copyMarkdown }, t('markdown.copy'));
  const close = el('button', { type: 'button', class: 'r-tool', 'aria-label': t('close'), title: t('close'), onclick: act.close }, '×');
  const rows = el('div', { class: 'r-drows' });
  node.setAttribute('aria-labelledby', 'r-debug-title');
  node.append(el('header', { class: 'r-phead' }, title, el('label', { class: 'r-option' }, option, t('debug.stopEmpty')), copy, said, close), rows);
  rows.addEventListener('pointerover', ({ target }) => point(store, target));
  rows.addEventListener('pointerleave', () => store.set({ hover: null }));
  rows.addEventListener('focusin', ({ target }) => point(store, target));
  rows.addEventListener('focusout', () => store.set({ hover: null }));

  async function copyMarkdown() {
    const { markdownOf } = await import('./markdown.js');
    copyText(markdownOf(store.get(), act.url()), said, t('markdown.copied'));
  }

  let drawn = '';
  store.subscribe((state, changed) => {
    node.hidden = !state.debug || !state.fold?.header || Boolean(state.guessing); // it would answer the open question
    option.checked = state.stopEmpty;
    if (node.hidden) return;
    if (changed.has('fold') || SHOWS.some((key) => changed.has(key)) || !drawn) {
      const key = keyOf(state);
      if (key !== drawn || changed.has('fold')) {
        title.textContent = t('debug.title', { lane: laneLong(state.right) });
        holdFocus(node, () => rows.replaceChildren(...rowOrder(state.fold).map((row) => block(state, row, store, act))));
        drawn = key;
      }
    }
    for (const pair of rows.querySelectorAll('.r-pair[data-index]')) {
      const on = state.cell?.row === state.row && state.cell.index === Number(pair.dataset.index);
      pair.setAttribute('aria-selected', String(on));
      pair.classList.toggle('now', Number(pair.dataset.born) === state.step);
    }
  });
  return { focus: () => title.focus({ preventScroll: true }) };
}

/** What the drawing depends on: a run that streams in changes far more often than this. */
function keyOf({ fold, source, row, left, right }) {
  const rows = rowOrder(fold).map((r) => {
    const { kinds, final, compare } = fold.lanes[right].rows[r];
    return [kinds.length, final, compare?.verdict, fold.lanes[left].rows[r].compare?.verdict];
  });
  return JSON.stringify([source.name, row, left, right, rows]);
}

function block(state, row, store, act) {
  const open = row === state.row;
  const { fold, left, right } = state;
  const verdict = verdictOf(fold, right, row);
  const head = el('button', {
    type: 'button', class: `r-drow ${verdict.state}`, 'aria-expanded': String(open), 'data-key': `row/${row}`,
    onclick: () => store.set({ row, touched: true }),
  }, el('b', {}, rowName(row)), el('span', {}, verdict.text));
  if (!open) return el('section', {}, head);
  const plan = alignRow(fold, right, row, left);
  return el('section', { class: 'open' }, head, drawRow(fold, plan, {
    toViolation: () => act.violation(right, violationOf(fold, right, row), { look: false }),
    toDifference: () => go(act, differenceOf(fold, right, row)),
    choose: (pair) => choose(state, plan, pair, act),
  }));
}

function go(act, found) {
  if (found) act.jump(found.step, found.row, found.cell);
}

/** A column of the two texts: the clock goes to the round that wrote the method's token, and that token is selected. */
function choose({ left }, { lane, row, reference }, { index, actual, born }, act) {
  if (actual !== undefined) act.jump(born, row, { lane, row, index });
  else if (reference === left) act.jump(null, row, { lane: left, row, index });
}

function point(store, target) {
  const index = target.closest('.r-pair[data-index]')?.dataset.index;
  const { right: lane, row } = store.get();
  store.set({ hover: index === undefined ? null : { lane, row, index: Number(index) } });
}
