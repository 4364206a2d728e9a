// One row in the debugger: the way from the first broken invariant to the first wrong token, and both texts aligned.

import { firstBroken } from './verdict.js';
import { rove } from './roving.js';
import { tokenNode, tokenText } from './token_text.js';
import { drawScales } from './debugger_scales.js';
import { el } from './svg.js';
import { t, tn, laneName, laneLong } from './strings.js';

/** The body of one row. `act` = {toViolation(row), toDifference(row), choose(pair)}. */
export function drawRow(fold, plan, act) {
  return el('div', { class: 'r-dbody' }, way(fold, plan, act), legend(plan), strip(fold, plan, act), plan.wrong && drawScales(fold, plan));
}

/** first broken -> torn but still right -> first wrong, each a step of one list. */
function way(fold, plan, act) {
  const { lane, row, verdict, violation, wrong, torn, gaps } = plan;
  const steps = [];
  const broken = firstBroken(fold, lane, row)?.text ?? (violation && t('firstBroken', { what: t(`invariant.${violation.invariant}`) ?? violation.invariant, step: violation.step, fed: violation.invariant === 'contiguity' ? t('gapFed') : '' }));
  const jump = (key, words, then) => el('button', { type: 'button', class: 'r-text', 'data-key': `${key}/${row}`, onclick: () => then(row) }, words);
  if (broken) {
    const values = { expected: violation.expected, actual: violation.actual, slot: violation.slot };
    steps.push([jump('violation', broken, act.toViolation), t(`debug.violated.${violation.invariant}`, values) ?? violation.message]);
  } else steps.push([el('b', {}, t('debug.nothingBroken')), '']);
  if (violation && torn) steps.push([el('b', {}, tn('debug.torn', torn)), t('debug.tornWhy')]);
  if (wrong) {
    const words = t(verdict === 'rounding' ? 'debug.toTie' : 'debug.toWrong', { n: wrong.generated + 1, step: wrong.step });
    const sum = gaps.n ? t('debug.gaps', { sum: tn('places', gaps.sum), n: tn('tears', gaps.n) }) : t('debug.noGaps');
    steps.push([jump('difference', words, act.toDifference), sum]);
  } else if (verdict === 'equal') steps.push([el('b', {}, t('equal', { n: plan.checked })), violation ? t('debug.brokenEqual') : '']);
  else steps.push([el('b', {}, t('checking')), '']);
  return el('ol', { class: 'r-way' }, ...steps.map(([head, note]) => el('li', {}, head, note && el('span', {}, note))));
}

function legend({ lane, pairs, reference }) {
  const present = new Set(pairs.map((pair) => pair.state));
  const keys = ['torn', 'wrong', 'tie', 'later'].filter((state) => present.has(state));
  const known = reference ? t('debug.knownFrom', { lane: laneLong(reference) }) : t('debug.knownPart');
  return el('p', { class: 'r-note keys' }, el('span', {}, t('debug.lines', { lane: laneLong(lane) }), ' ', known),
    ...keys.map((state) => el('span', { class: `r-dkey ${state}` }, el('span', { class: 'swatch' }), t(`debug.state.${state}`))),
    el('span', { class: 'r-dkey now' }, el('small', {}, '1'), t('debug.now')));
}

/** The two texts, one column per token. */
function strip(fold, plan, act) {
  const list = el('div', { class: 'r-strip', role: 'listbox', 'aria-label': t('debug.strip', { lane: laneLong(plan.lane), row: plan.row + 1 }) });
  const names = el('span', { class: 'r-pair names', 'aria-hidden': 'true' }, el('small', {}, t('debug.token')), el('span', {}, t('debug.alone')), el('span', {}, laneName(plan.lane)));
  list.append(names, ...plan.pairs.map((pair) => column(fold, plan, pair)));
  const choose = (node) => act.choose(plan.pairs[Number(node.dataset.generated)]);
  const stop = rove(list, '.r-pair[data-index]', choose);
  list.addEventListener('click', ({ target }) => {
    const node = target.closest('.r-pair[data-index]');
    if (!node) return;
    stop(node);
    choose(node);
  });
  return list;
}

function column(fold, plan, pair) {
  const { generated: n, index, expected, actual, state } = pair;
  const words = (id) => (id === undefined ? t('debug.none') : tokenText(fold, id).text);
  const label = t('debug.pair', { n: n + 1, alone: words(expected), lane: laneLong(plan.lane), actual: words(actual), state: t(`debug.state.${state}`) });
  const first = plan.wrong ? n === plan.wrong.generated : n === 0;
  return el('span', {
    class: `r-pair ${state}`, role: 'option', tabindex: first ? 0 : -1, 'aria-selected': 'false', 'aria-label': label,
    'data-index': index, 'data-generated': n, 'data-born': pair.born ?? null, 'data-key': `pair/${plan.row}/${n}`,
  }, el('small', {}, n + 1), cell(fold, expected, 'alone'), cell(fold, actual, 'own'));
}

/** One side's token; where a side has none, a dash keeps the columns level. */
function cell(fold, id, className) {
  return id === undefined ? el('span', { class: `r-tok ${className} absent` }, '–') : tokenNode(fold, id, 'span', className);
}
