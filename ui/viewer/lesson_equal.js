// Chapter 8: is it really equal? Against "any mismatch is a bug" and "GPUs are exact". On a run in bfloat16.

import { numbers, word } from './lesson_facts.js';
import { firstWrong } from './gaps.js';
import { countEqual } from './verdict.js';
import { laneLong } from './strings.js';
import { mountRank } from './lesson_rank.js';
import { say } from './lesson_strings.js';

export default { key: 'equal', trace: 'rounding', facts, steps };

/** Differences of both kinds, each with what the target thought of the two tokens. */
function facts(fold) {
  const lanes = ['eqspec', 'bsp'].filter((name) => fold.lanes[name]?.frames.length);
  const found = lanes.flatMap((lane) => Object.keys(fold.lanes[lane].rows).map(Number).flatMap((row) => {
    const wrong = firstWrong(fold, lane, row);
    const { logits, noise } = fold.lanes[lane].rows[row].compare ?? {};
    if (!wrong || !logits || wrong.expected < 0 || wrong.actual < 0) return [];
    const gap = logits.reference[0] - logits.reference[1];
    return [{ lane, id: row, wrong, noise, gap, apart: Math.max(...logits.reference.map((value, n) => Math.abs(value - logits.lane[n]))), verdict: wrong.verdict }];
  }));
  const of = (verdict) => found.filter((d) => d.verdict === verdict).sort((a, b) => a.gap - b.gap);
  const [ties, bugs] = [of('rounding'), of('bug')];
  const three = [ties[0], bugs[0], ties[1] ?? bugs[1]].filter(Boolean); // the hardest to tell apart
  const { equal, rows, ties: near, waiting } = countEqual(fold, 'eqspec');
  if (three.length < 3 || !ties.length || !bugs.length || waiting) return null;
  const tie = ties[0];
  return {
    equal, rows, near, dtype: fold.header.dtype, noise: short(tie.noise), tie, row: tie.id + 1, gap: short(tie.gap), apart: short(tie.apart), verdict: tie.verdict, step: tie.wrong.step, n: tie.wrong.generated + 1,
    expected: word(fold, tie.wrong.expected), actual: word(fold, tie.wrong.actual),
    items: three.map((d) => ({
      answer: d.verdict, at: placeOf(d), text: say('equal.item', { lane: laneLong(d.lane), row: d.id + 1, expected: word(fold, d.wrong.expected), actual: word(fold, d.wrong.actual), gap: short(d.gap), apart: short(d.apart), noise: short(d.noise) }),
    })),
  };
}

/** One difference by itself: its row, its lane, the round that wrote it. */
const placeOf = ({ lane, id, wrong }) => ({ left: lane, right: lane, row: id, step: wrong.step, sole: true });

const short = (number) => String(Math.round(number * 1000) / 1000);

function steps(f) {
  const at = { left: 'eqspec', right: 'eqspec', row: f.tie.id, step: 0 };
  return [
    {
      kind: 'predict', hide: true, ask: say('equal.predict', f), answer: f.equal, options: numbers(0, f.rows), view: at,
      right: say(f.equal < f.rows ? 'equal.because.predict' : 'equal.because.predictAll', f),
      miss: (bet) => say(bet > f.equal ? 'equal.fewer' : 'equal.more', f),
    },
    {
      kind: 'act', hide: true, ask: say('equal.act', f), view: f.items[0].at, truth: say('equal.shown', f), done: say('equal.done', f),
      mount: (box, api) => mountRank(box, api, f.items, (item) => say(item.answer === 'rounding' ? 'equal.isTie' : 'equal.isBug', { item: item.text, ...f }), ['rounding', 'bug']),
    },
    {
      kind: 'check', hide: true, ask: say('equal.check', f), answer: f.verdict, view: placeOf(f.tie), right: say('equal.noBug', f),
      options: ['rounding', 'bug', 'unknown'].map((value) => ({ value, text: say(`equal.${value}`) })),
      miss: (which) => say(which === 'unknown' ? 'equal.known' : 'equal.noBug', f),
    },
  ];
}
