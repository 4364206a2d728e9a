// The logits at the first wrong token as a small table, each with the event and field it comes from.

import { weigh } from './weigh.js';
import { tokenNode } from './token_text.js';
import { quoted } from './pieces.js';
import { el } from './svg.js';
import { t, laneLong } from './strings.js';

/** The table and its reading; without logits it says which event would carry them. */
export function drawScales(fold, plan) {
  const found = weigh(fold, plan.lane, plan.row, plan.reference);
  if (!found?.sides.length) return el('p', { class: 'r-note' }, t('debug.noLogits'));
  const head = el('tr', {}, ...t('debug.scalesHead').map((text) => el('th', { scope: 'col' }, text)));
  const table = el('table', { class: 'r-scales' }, el('caption', {}, t('debug.scales')), el('thead', {}, head),
    el('tbody', {}, ...found.sides.map((side) => line(fold, plan, side))));
  return el('div', { class: 'r-weigh' }, el('div', { class: 'r-scroll', tabindex: 0, role: 'group', 'aria-label': t('debug.scales') }, table),
    el('p', { class: `r-reading${found.rounding ? ' tie' : ''}` }, reading(fold, plan, found)));
}

function line(fold, plan, { side, lane, best, lead, from, step }) {
  const token = ({ id, logit }, n) => el('td', {}, tokenNode(fold, id), ' ', el('small', {}, `${id ?? ''}`), ' ', el('b', {}, logit.toFixed(3)),
    n && side === 'alone' ? el('small', {}, ` ${t('debug.itsToken', { lane: laneLong(plan.lane) })}`) : '');
  const source = step === undefined ? from : t('debug.at', { from, step });
  return el('tr', {}, el('th', { scope: 'row' }, side === 'alone' ? t('debug.alone') : laneLong(lane)),
    ...best.map(token), el('td', { class: 'num' }, lead.toFixed(3)), el('td', {}, el('code', {}, source)));
}

/** Rounding or not: the leads of both sides, and how far the logits moved against what rounding was measured to move. */
function reading(fold, { lane, wrong }, { logits, sides, apart, noise, rounding }) {
  if (!logits) return t('debug.noLogits');
  const [ref, own] = [logits.reference, logits.lane];
  const named = sides.some((side) => side.lane === lane && side.best.some(({ id }) => id === wrong.expected));
  const values = {
    lane: laneLong(lane), expected: quoted(wrong.expected, fold, t('endToken')), actual: quoted(wrong.actual, fold, t('endToken')),
    alone: (ref[0] - ref[1]).toFixed(4), own: (own[1] - own[0]).toFixed(4),
    apart: apart.toFixed(4), noise, times: noise ? Math.round(apart / noise).toLocaleString(t('language')) : '',
  };
  return `${t(named ? 'debug.leads' : 'debug.leadsLeast', values)} ${t(rounding ? 'debug.tie' : noise ? 'debug.noTie' : 'debug.noNoise', values)}`;
}
