// The microscope: opens in place under the clock and shows what one round does to every row of both lanes.

import { costWords } from './copy_cost.js';
import { frameAt } from './fold.js';
import { stagesOf } from './micro_layout.js';
import { el, svg } from './svg.js';
import { t, tn, laneLong, rowName } from './strings.js';

const [STRIP, GAP] = [14, 12];
const MARKS = { rejected: (x, w) => `M${x} 1l${w} ${STRIP - 2}m0 ${2 - STRIP}l${-w} ${STRIP - 2}`, fresh: (x, w) => `M${x} ${STRIP - 3}h${w}`, hole: (x, w) => `M${x + w / 2 - 1} ${STRIP / 2}h2` };

/** Returns {toggle()}. */
export function mountMicroscope(at, store) {
  const title = el('h2', { tabindex: -1, id: 'r-micro-title' });
  const close = el('button', { type: 'button', class: 'r-tool', 'aria-label': t('close'), title: t('close'), onclick: () => toggle() }, '×');
  const body = el('div', { class: 'r-micro' });
  const terms = el('p', { class: 'r-note keys' });
  const node = el('section', { id: 'ragged-microscope', class: 'r-panel', hidden: true, 'aria-labelledby': 'r-micro-title' }, el('header', { class: 'r-phead' }, title, key(), close), terms, body);
  const button = el('button', { type: 'button', class: 'r-text r-inside', 'aria-controls': 'ragged-microscope', onclick: () => toggle() }, t('micro.open'));
  at.transport.querySelector('.r-round').after(button);
  at.transport.after(node);

  store.subscribe((state, changed) => { if (['micro', 'fold', 'version', 'step', 'left', 'right'].some((name) => changed.has(name))) draw(state); });
  draw(store.get());

  function draw(state) {
    node.hidden = !state.micro || !state.fold?.header;
    button.setAttribute('aria-expanded', String(!node.hidden));
    if (node.hidden) return;
    title.textContent = t(state.step ? 'micro.title' : 'micro.titlePrefill', state);
    const lanes = [...new Set([state.left, state.right])];
    const widest = Math.max(1, ...lanes.flatMap((lane) => rowsOf(state, lane).flatMap(({ stages }) => stages.map(({ width }) => width))));
    const stages = [...new Set(lanes.flatMap((lane) => rowsOf(state, lane).flatMap(({ stages: own }) => own.map(({ key: name }) => name))))];
    terms.replaceChildren(...stages.map((name) => el('span', {}, el('b', {}, t(`micro.stage.${name}`)), `: ${t(`micro.why.${name}`)}`)), ...(stages.includes('repad') ? [el('span', {}, t('micro.letters'))] : []));
    body.replaceChildren(...lanes.map((lane) => laneBlock(state, lane, widest)));
  }

  function toggle() {
    const opens = !store.get().micro;
    const inside = node.contains(document.activeElement);
    store.set({ micro: opens, touched: true });
    if (opens) requestAnimationFrame(() => requestAnimationFrame(() => node.scrollIntoView({ block: node.offsetHeight < innerHeight ? 'nearest' : 'start' })));
    else if (inside) button.focus({ preventScroll: true });
  }

  return { toggle };
}

/** The round's rows of a lane that were fed in it. */
function rowsOf({ fold, step }, lane) {
  const { frames, rows } = fold.lanes[lane] ?? { frames: [] };
  const frame = frameAt(fold.lanes[lane], step);
  const ended = (row) => Boolean(rows[row].done) && !frames.some((other) => other.step > step && other.rows.includes(row));
  return frame?.step === step ? frame.rows.map((row, i) => stagesOf(frame, i, ended(row))).filter(Boolean) : [];
}

function laneBlock(state, lane, widest) {
  const rows = rowsOf(state, lane);
  const frame = frameAt(state.fold.lanes[lane], state.step);
  const what = !rows.length ? t('micro.idle') : costWords(state.fold.header, frame) || t('micro.nothing');
  return el('section', { 'data-lane': lane }, el('h3', {}, laneLong(lane), el('small', {}, what)), ...rows.map((row) => rowBlock(row, widest)));
}

function rowBlock(row, widest) {
  const facts = row.stages.map((stage) => factsOf(stage, row));
  const spoken = row.stages.map((stage, n) => t('micro.step', { stage: t(`micro.stage.${stage.key}`), facts: facts[n] })).join('; ');
  return el('div', { class: 'r-microrow', 'data-row': row.row, role: 'group', 'aria-label': t('micro.row', { row: row.row + 1, stages: spoken }) },
    el('b', {}, rowName(row.row)),
    el('ol', { 'aria-hidden': 'true' }, ...row.stages.map((stage, n) => el('li', { 'data-stage': stage.key },
      el('span', {}, t(`micro.stage.${stage.key}`)), drawing(stage, row.stages[n + 1], widest), el('output', { class: row.delta === null || !isRectangle(stage) ? '' : ticked(stage) ? 'right' : 'wrong' }, facts[n])))),
    row.left ? el('p', { class: 'r-note' }, t('micro.left')) : null);
}

const isRectangle = ({ key }) => key === 'before' || key === 'repad';

/** Whether a rectangle's equation holds, with all of the row's entries in it and no pad seen. */
const ticked = (stage) => isRectangle(stage) && !stage.holes && !stage.lost && !stage.padsSeen && stage.p + stage.c === stage.width;

function factsOf(stage, { delta, stages }) {
  const { key, p, c, width, holes, grown, old, lost, padsSeen } = stage;
  const four = stages.some((other) => other.key === 'repad' || other.key === 'unpad');
  if (grown !== undefined) return t('micro.grown', { c: old, n: grown, sum: c });
  if (key === 'unpad') return t('micro.content', { c });
  if (key === 'found') return holes ? t('micro.found', { c, holes }) : t('micro.content', { c });
  if (!four) return holes ? t('micro.holes', { c, holes }) : t('micro.content', { c });
  const off = [lost && tn('micro.lost', lost), padsSeen && tn('micro.padsSeen', padsSeen)].filter(Boolean);
  const sum = t('micro.rectangle', { p, c, sum: p + c }) + (p + c === width ? t('micro.equalsL') : t('micro.notL', { width })) + (ticked(stage) ? ' ✓' : ' ✗');
  if (off.length) return [sum, ...off].join(', ');
  return key === 'repad' ? `${sum}, ${delta ? t('micro.delta', { delta: `${delta > 0 ? '+' : '−'}${Math.abs(delta)}` }) : t('micro.stays')}` : sum;
}

/** A strip in the scale of the slots, and the way of its content to the next strip. */
function drawing(stage, next, widest) {
  const at = (x) => (x * 1000) / widest;
  const parts = stage.runs.map(({ x, n, kind }) => svg('g', { class: `r-mrun ${kind}` }, svg('rect', { x: at(x), y: 0.5, width: at(n), height: STRIP - 1 }),
    ...Array.from({ length: MARKS[kind] ? n : 0 }, (_, k) => svg('path', { d: MARKS[kind](at(x + k) + 1, at(1) - 2) }))));
  const [from, to] = [edges(stage), next && edges(next)];
  const way = from && to ? from.map((x, n) => svg('path', { class: 'r-mway', d: `M${at(x)} ${STRIP}L${at(to[n])} ${STRIP + GAP}` })) : [];
  return svg('svg', { viewBox: `0 0 1000 ${STRIP + GAP}`, preserveAspectRatio: 'none', height: STRIP + GAP }, ...way, ...parts);
}

/** Where the content that stays begins and where that of the round before ends. */
function edges({ runs }) {
  const own = runs.filter(({ kind }) => kind === 'kept');
  return own.length ? [own[0].x, own.at(-1).x + own.at(-1).n] : null;
}

function key() {
  return el('span', { class: 'r-mkey' }, ...['pad', 'kept', 'fresh', 'rejected', 'hole'].map((kind) => el('span', { class: 'r-key' },
    svg('svg', { width: 16, height: STRIP, viewBox: `0 0 16 ${STRIP}`, 'aria-hidden': 'true' }, svg('g', { class: `r-mrun ${kind}` }, svg('rect', { x: 0.5, y: 0.5, width: 15, height: STRIP - 1 }), MARKS[kind] ? svg('path', { d: MARKS[kind](2, 12) }) : null)), t(`micro.key.${kind}`))));
}
