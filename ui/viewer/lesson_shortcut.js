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
  const { size } = one.gap;
  const asked = onlyGap(fold, found);
  if (!asked) return null;
  const padded = padGap(fold);
  return { one, firsts, asked, fold, row: one.row + 1, round: step, last: say(one.j ? 'shortcut.lastDraft' : 'shortcut.lastToken', one), j: one.j, k: one.k, size, step: size + 1, padsToo: padded ? say('shortcut.padsToo', padded) : '' };
}

/** A row whose rejected drafts are its only gap so far, so that the ruler, EQSPEC's row above and the answer agree. */
function onlyGap(fold, found) {
  const alone = found.filter((r) => ribbonOf(fold, LANE, r.row, r.step).gaps.length === 1);
  const one = alone.sort((a, b) => a.step - b.step || b.gap.size - a.gap.size)[0];
  if (!one) return null;
  const { x, size } = one.gap;
  return { id: one.row, row: one.row + 1, round: one.step, k: one.k, x: x - 1, size, fed: x + size, due: x };
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
  const { asked } = f;
  const before = { left: 'eqspec', right: LANE, row: f.one.row, step: f.round - 1 };
  const pair = (a, b) => ({ value: `${a}/${b}`, text: say('shortcut.pair', { a, b }) });
  return [
    {
      kind: 'predict', ask: say('shortcut.predict', f), options: choices(1, f.k - f.j, f.step, f.k + 1).map(({ value }) => ({ value, text: say('shortcut.at', { n: value }) })), answer: f.step, view: before, right: say('shortcut.because.predict', f),
      miss: (n) => say(n === 1 ? 'shortcut.gone' : 'shortcut.other'),
    },
    {
      kind: 'act', ask: say('shortcut.act', f), view: before, truth: say('shortcut.shown', f),
      done: say('shortcut.done', f), reveal: { step: f.round, inspect: false, row: f.one.row, cell: { lane: LANE, row: f.one.row, index: f.one.gap.before } },
      click: ({ target }, api) => {
        const tear = target.closest('.r-tear');
        const at = tear?.closest('[data-lane]')?.dataset;
        if (at) judge({ lane: at.lane, row: Number(at.row), index: Number(tear.dataset.before) }, f, api);
      },
      watch(state, changed, api) {
        if (changed.has('cell') && state.cell) judge(state.cell, f, api);
        else if (changed.has('step')) api.clear(); // said of another round
      },
    },
    {
      kind: 'check', ask: say('shortcut.check', asked), answer: `${asked.fed}/${asked.due}`, view: { ...before, row: asked.id, step: asked.round }, right: say('shortcut.because.check', asked),
      options: [...new Map([pair(asked.due, asked.due), pair(asked.fed, asked.due), pair(asked.fed, asked.fed), pair(asked.due + asked.k, asked.due)].map((p) => [p.value, p])).values()],
      miss: (value) => say(value === `${asked.due}/${asked.due}` ? 'shortcut.maskedGone' : value === `${asked.fed}/${asked.fed}` ? 'shortcut.noFault' : 'shortcut.unsure'),
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
