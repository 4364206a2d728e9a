// Chapter 8: is it really equal? Against "any mismatch is a bug" and "GPUs are exact". On a run in bfloat16.

import { numbers, word } from './lesson_facts.js';
import { firstViolation, firstWrong } from './gaps.js';
import { countEqual } from './verdict.js';
import { laneLong, t } from './strings.js';
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
    return [{ lane, id: row, wrong, noise, gap, apart: Math.max(...logits.reference.map((value, n) => Math.abs(value - logits.lane[n]))), verdict: wrong.verdict, broken: firstViolation(fold, lane, row) }];
  }));
  const noise = Math.max(0, ...found.map((d) => d.noise));
  const fits = (d) => (d.verdict === 'rounding') === (d.apart <= noise && d.gap <= 2 * noise && !d.broken); // the rule in words says the same
  const of = (verdict) => found.filter((d) => d.verdict === verdict && fits(d)).sort((a, b) => a.gap - b.gap);
  const [ties, bugs] = [of('rounding'), of('bug')];
  const [first, ...more] = ties;
  const last = more[0] ?? bugs[2]; // asked about in the end: not one of those judged before
  const { equal, rows, ties: near, waiting } = countEqual(fold, 'eqspec');
  if (!first || bugs.length < 2 || !last || waiting) return null;
  const own = { noise: short(noise), twice: short(2 * noise) };
  const told = (d) => describe(fold, d, own);
  return {
    ...own, equal, rows, near, dtype: fold.header.dtype, rules: [say('equal.rule', own), say('equal.invariant')], first,
    asked: { ...told(last), at: placeOf(last, 'D') }, verdict: last.verdict,
    items: [bugs[0], first, bugs[1]].map((d, n) => ({ ...told(d), answer: d.verdict, at: placeOf(d, LETTERS[n]), text: say('equal.item', { ...told(d), run: say('equal.run', { letter: LETTERS[n] }) }) })),
  };
}

const LETTERS = ['A', 'B', 'C'];

/** One difference in numbers and words; `why`: what the rule says of it. */
function describe(fold, d, own) {
  const gap = short(d.gap);
  const words = { expected: word(fold, d.wrong.expected), actual: word(fold, d.wrong.actual), gap };
  const broke = d.broken && say('equal.broke', { what: t(`invariant.${d.broken.invariant}`), round: d.broken.step, fed: d.broken.invariant === 'contiguity' ? t('gapFed') : '' });
  const reason = d.apart > Number(own.noise) ? say('equal.moved', own) : say('equal.led', own);
  return {
    lane: laneLong(d.lane), row: d.id + 1, n: d.wrong.generated + 1, gap, apart: short(d.apart), lead: say(d.gap ? 'equal.leads' : 'equal.tie', words),
    invariants: broke || say('equal.holds'), why: [reason, broke].filter(Boolean).join('; '),
  };
}

/** One difference by itself: its row, its lane under a name that does not tell, the round that wrote it. */
const placeOf = ({ lane, id, wrong }, letter) => ({ left: lane, right: lane, row: id, step: wrong.step, sole: true, alias: say('equal.run', { letter }) });

const short = (number) => String(Math.round(number * 1000) / 1000);

function steps(f) {
  const at = { left: 'eqspec', right: 'eqspec', row: f.first.id, step: 0 };
  const judged = (verdict, text, item) => say(verdict === 'rounding' ? 'equal.isTie' : 'equal.isBug', { ...f, item: text, why: item.why });
  return [
    {
      kind: 'predict', hide: true, ask: say('equal.predict', f), answer: f.equal, options: numbers(0, f.rows), view: at,
      right: say(f.equal < f.rows ? 'equal.because.predict' : 'equal.because.predictAll', f),
      miss: (bet) => say(bet > f.equal ? 'equal.fewer' : 'equal.more', f),
    },
    {
      kind: 'act', hide: true, ask: say('equal.act', f), rules: f.rules, view: f.items[0].at, truth: say('equal.shown', f),
      done: say('equal.done', { lanes: f.items.map(({ lane }, n) => say('equal.sorted', { letter: LETTERS[n], lane })).join(say('and')) }),
      mount: (box, api) => mountRank(box, api, f.items, (item) => judged(item.answer, `${item.at.alias}: `, item), ['rounding', 'bug']),
    },
    {
      kind: 'check', hide: true, ask: say('equal.check', f.asked), answer: f.verdict, view: f.asked.at,
      right: judged(f.verdict, '', f.asked),
      options: ['rounding', 'bug', 'unknown'].map((value) => ({ value, text: say(`equal.${value}`) })),
      miss: (which) => (which === 'unknown' ? say('equal.known') : judged(f.verdict, '', f.asked)),
    },
  ];
}
