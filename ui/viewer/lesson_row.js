// Chapter 1: one row. Against "speculation approximates" and "verifying is K passes".

import { choices, draftRounds, numbers, word } from './lesson_facts.js';
import { say } from './lesson_strings.js';

export default { key: 'row', trace: 'hero', facts, steps };

/** A round in which some drafts survive, and one in which all do. */
function facts(fold) {
  const all = draftRounds(fold, 'eqspec');
  const some = all.filter(({ k, j }) => j > 0 && j < k).sort((a, b) => a.step - b.step || b.j - a.j)[0];
  const full = all.find((r) => r.j === r.k && r.step !== some?.step && !r.frame.cut[r.i]);
  if (!some || !full) return null;
  const { frame, i } = some;
  return {
    k: some.k, j: some.j, round: some.step, row: some.row + 1, words: frame.draft[i].map((id) => word(fold, id)).join(' '), some,
    next: some.j + 1, word: word(fold, frame.draft[i][some.j]), choice: word(fold, frame.emitted[i].at(-1)),
    fullRound: full.step, fullRow: full.row, fullK: full.k, tokens: full.frame.emitted[full.i].length, bonus: word(fold, full.frame.emitted[full.i].at(-1)),
  };
}

function steps(f) {
  const before = { left: 'eqspec', right: 'eqspec', row: f.some.row, step: f.round - 1 };
  return [
    {
      kind: 'predict', ask: say('row.predict', f), options: numbers(0, f.k), answer: f.j, right: say('row.because.predict', f), view: before,
      miss: (bet) => say(bet > f.j ? 'row.more' : 'row.fewer'),
    },
    {
      kind: 'act', ask: say('row.act', f), view: before, reveal: { step: f.round }, truth: say('row.shown', f),
      watch(state, changed, api) {
        if (!changed.has('step') || state.playing) return;
        if (state.step === f.round) api.solve();
        else if (state.step !== f.round - 1) api.miss(say('row.elsewhere', { ...f, step: state.step }));
      },
    },
    {
      kind: 'check', ask: say('row.check', { k: f.fullK, round: f.fullRound, row: f.fullRow + 1 }), answer: f.tokens, right: say('row.because.check', { k: f.fullK, bonus: f.bonus }),
      options: choices(1, f.fullK, f.fullK + 1, 2 * f.fullK),
      view: { ...before, row: f.fullRow, step: f.fullRound - 1 }, reveal: { row: f.fullRow, step: f.fullRound },
      miss: (n) => say(n === f.fullK ? 'row.noBonus' : n < f.tokens ? 'row.tooFew' : 'row.tooMany'),
    },
  ];
}
