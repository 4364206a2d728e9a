// What the check of a dropped trace found: a line per lane, the first violation in full, and three ways to take it along.

import { placeOf } from './place.js';
import { copyText } from './copy.js';
import { shareUrl } from './link.js';
import { el, svg } from './svg.js';
import { t, tn, laneLong } from './strings.js';

/** Draws `result` (of inspection.js, with file and digest) into `node`. `act` = {violation(lane, first), space, store}. */
export function drawReport(node, result, act) {
  if (!result.lanes.length) return node.replaceChildren(el('p', { class: 'r-note' }, t('drop.noLane')));
  return node.replaceChildren(...result.lanes.map((lane) => laneBlock(result, lane, act)));
}

function laneBlock(result, lane, act) {
  const { first } = lane;
  const checked = lane.steps - lane.unchecked.length; // of 0 steps nobody can say clean
  const facts = checked ? [tn('drop.steps', checked)] : [lane.steps ? t('drop.noForward', { steps: tn('steps', lane.steps) }) : t('drop.noStep')];
  if (lane.partial.length) facts.push(t('drop.partial', { steps: runs(lane.partial) }));
  if (checked && lane.unchecked.length) facts.push(t('drop.unchecked', { steps: runs(lane.unchecked) }));
  if (!lane.ended) facts.push(t('drop.unended'));
  const verdict = first ? t('drop.broken', { what: t(`invariant.${first.invariant}`) }) : t(checked ? 'drop.clean' : 'drop.nothing');
  const head = el('h3', { class: first ? 'broken' : checked ? 'clean' : '' }, checked ? sign(Boolean(first)) : null, el('span', {}, `${laneLong(lane.lane)}: ${verdict}`), el('small', {}, facts.join(', ')));
  return el('section', { class: 'r-checked', 'data-lane': lane.lane }, head, ...(first ? violation(result, lane, act) : []),
    ...(differing(lane) ? [el('p', { class: 'r-note' }, tn('drop.differ', differing(lane)))] : []));
}

/** Where the trace's own violation events differ; one that has none claims nothing. */
const differing = ({ differ }) => (differ.claims ? differ.missing.length + differ.forged.length : 0);

/** The first violation: its row, round, slot, expected, actual; what it means; what rests on it. */
function violation(result, lane, act) {
  const { first } = lane;
  const said = el('span', { class: 'r-note', role: 'status' });
  const button = (key, onclick) => el('button', { type: 'button', class: 'r-text', 'data-key': `drop/${key}`, onclick }, t(`drop.${key}`));
  const url = () => linkTo(result, lane, act);
  const tools = el('p', { class: 'r-itools' },
    result.drawn && button('show', () => act.violation(lane.lane, first)),
    result.drawn && button('link', () => copyText(url(), said, t('drop.linkCopied'))),
    button('json', () => copyText(asJson(result, lane, url()), said, t('drop.jsonCopied'))),
    button('save', () => save(`${result.file}.violation.json`, asJson(result, lane, url()))), said);
  const counts = Object.entries(lane.counts).map(([name, n]) => `${t(`invariant.${name}`)} ${n}`).join(', ');
  return [
    el('div', { class: 'r-scroll' }, violationTable(first)), el('p', { class: 'r-found' }, `${first.message}. `, el('span', { class: 'r-note' }, t(`drop.means.${first.invariant}`))), tools,
    el('p', { class: 'r-note' }, first.later.length ? `${t('drop.later', { steps: runs(first.later) })} ` : '', t('drop.inAll', { list: counts })),
  ];
}

/** Row, round, slot, expected, actual. */
export function violationTable({ row, step, slot, expected, actual }) {
  const cells = [row + 1, step, slot < 0 ? t('drop.noSlot') : slot, expected, actual];
  return el('table', { class: 'r-violation' }, el('caption', { class: 'r-hidden' }, t('drop.first')),
    el('thead', {}, el('tr', {}, ...t('drop.head').map((text) => el('th', { scope: 'col' }, text)))),
    el('tbody', {}, el('tr', {}, ...cells.map((cell) => el('td', {}, String(cell))))));
}

function linkTo(result, lane, { store, space }) {
  const [step, row, cell] = result.drawn ? placeOf(result, lane) : [lane.first.step, lane.first.row, null];
  return shareUrl({ ...store.get(), source: { kind: 'file', name: result.name }, chapter: null, step, row, cell, right: lane.lane, inspect: Boolean(cell), debug: false }, space);
}

function asJson({ file, digest }, lane, link) {
  const { later, ...first } = lane.first;
  return `${JSON.stringify({ file, sha256: digest, lane: lane.lane, ...first, later_steps: later, counts: lane.counts, link }, null, 2)}\n`;
}

function save(name, text) {
  const link = el('a', { href: URL.createObjectURL(new Blob([text], { type: 'application/json' })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/** Step numbers with runs shortened: 3-5, 9. */
function runs(numbers) {
  const out = [];
  for (const n of numbers) {
    if (out.length && n === out.at(-1)[1] + 1) out.at(-1)[1] = n;
    else out.push([n, n]);
  }
  return out.map(([a, b]) => (a === b ? a : `${a}–${b}`)).join(', ');
}

/** A tick or a torn triangle. */
function sign(broken) {
  return svg('svg', { class: 'r-icon', width: 15, height: 15, viewBox: '0 0 15 15', 'aria-hidden': 'true' },
    svg('path', { d: broken ? 'M7.5 1.5L14 13H1zM7.5 5.5v4m0 1.6v.4' : 'M2 7l4 4 7-8' }));
}
