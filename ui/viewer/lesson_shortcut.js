// Chapter 5: the tempting shortcut. Against "masked means gone".

import { choices, draftRounds } from './lesson_facts.js';
import { firstWrong, ribbonOf } from './gaps.js';
import { say } from './lesson_strings.js';

export default { key: 'shortcut', trace: 'hero', facts, steps };

const LANE = 'bsp';
const byDraft = (gap) => gap.dead.some(({ kind }) => kind === 'rejected');

/** BSP's first gaps that rejected drafts left, and the widest of them. */
function facts(fold) {
  const found = draftRounds(fold, LANE).flatMap((r) => {
    const gap = ribbonOf(fold, LANE, r.row, r.step)?.gaps.find((g) => g.before >= r.old && byDraft(g));
    return gap ? [{ ...r, gap }] : [];
  });
  if (!found.length) return null;
  const step = Math.min(...found.map((r) => r.step));
  const firsts = found.filter((r) => r.step === step);
  const one = firsts.slice().sort((a, b) => b.gap.size - a.gap.size)[0];
  const { x, size, dead } = one.gap;
  const padded = padGap(fold);
  return { one, firsts, fold, row: one.row + 1, round: step, j: one.j, k: one.k, size, step: size + 1, n: dead.length, x: x - 1, fed: x + size, due: x, padsToo: padded ? say(padded.alone ? 'shortcut.padsAlone' : 'shortcut.padsToo', padded) : '' };
}

/** Where pads alone made a row's text wrong, else where they make the widest gap: {row, size}; null without such a gap. */
function padGap(fold) {
  const found = Object.keys(fold.lanes[LANE].rows).map(Number).flatMap((row) => {
    const { prompt } = fold.lanes[LANE].rows[row];
    const wrong = firstWrong(fold, LANE, row);
    const gaps = ribbonOf(fold, LANE, row, wrong?.step ?? Infinity)?.gaps.filter(({ before }) => before <= (wrong?.index ?? Infinity)) ?? [];
    const pads = gaps.find((gap) => gap.before === prompt && !byDraft(gap));
    return pads ? [{ row: row + 1, size: pads.size, alone: Boolean(wrong) && !gaps.some(byDraft) }] : [];
  });
  return found.sort((a, b) => b.alone - a.alone || b.size - a.size)[0] ?? null;
}

function steps(f) {
  const before = { left: 'eqspec', right: LANE, row: f.one.row, step: f.round - 1 };
  const pair = (a, b) => ({ value: `${a}/${b}`, text: say('shortcut.pair', { a, b }) });
  return [
    {
      kind: 'predict', ask: say('shortcut.predict', f), options: choices(1, f.k - f.j, f.step, f.k + 1), answer: f.step, view: before, right: say('shortcut.because.predict', f),
      miss: (n) => say(n === 1 ? 'shortcut.gone' : 'shortcut.other'),
    },
    {
      kind: 'act', ask: say('shortcut.act', f), view: { ...before, step: 0 }, truth: say('shortcut.shown', f),
      done: say('shortcut.done', f), reveal: { step: f.round, inspect: false, row: f.one.row, cell: { lane: LANE, row: f.one.row, index: f.one.gap.before } },
      click: ({ target }, api) => {
        const tear = target.closest('.r-tear');
        const at = tear?.closest('[data-lane]')?.dataset;
        if (at) judge({ lane: at.lane, row: Number(at.row), index: Number(tear.dataset.before) }, f, api);
      },
      watch: (state, changed, api) => { if (changed.has('cell') && state.cell) judge(state.cell, f, api); },
    },
    {
      kind: 'check', ask: say('shortcut.check', f), answer: `${f.fed}/${f.due}`, view: { ...before, step: f.round }, right: say('shortcut.because.check', f),
      options: [...new Map([pair(f.due, f.due), pair(f.fed, f.due), pair(f.fed, f.fed), pair(f.fed - 1, f.due)].map((p) => [p.value, p])).values()],
      miss: (value) => say(value === `${f.due}/${f.due}` ? 'shortcut.maskedGone' : value === `${f.fed}/${f.fed}` ? 'shortcut.noFault' : 'shortcut.unsure'),
    },
  ];
}

/** A token or gap that somebody pointed at. */
function judge({ lane, row, index }, f, api) {
  const gap = ribbonOf(f.fold, lane, row, Infinity)?.gaps.find(({ before }) => before === index);
  const first = lane === LANE && f.firsts.find((r) => r.row === row && r.gap.before === index);
  if (first) {
    const cell = { lane, row, index };
    return api.solve(say('shortcut.done', { size: first.gap.size, row: row + 1, round: first.step }), { step: first.step, row, cell, inspect: false });
  }
  if (lane !== LANE) return api.miss(say('shortcut.whole'));
  return api.miss(say(!gap ? 'shortcut.noGap' : byDraft(gap) ? 'shortcut.later' : 'shortcut.pads'));
}
