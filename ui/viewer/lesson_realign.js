// Chapter 7: unpad, append, repad. Against "realigning recomputes or re-rotates keys".

import { entryBytes } from './copy_cost.js';
import { numbers, owned, padsOf } from './lesson_facts.js';
import { mountShift } from './lesson_shift.js';
import { say } from './lesson_strings.js';

export default { key: 'realign', trace: 'hero', facts, steps };

const LANE = 'eqspec';

/** The row that a realignment moves farthest, and a round in which all rows accepted alike. */
function facts(fold) {
  const frames = fold.lanes[LANE]?.frames ?? [];
  const moved = frames.filter(({ op }) => op === 'realign').flatMap((frame) => Object.keys(frame.after).map((row) => rowOf(frame, Number(row)))).filter(({ delta }) => delta);
  const one = moved.sort((a, b) => Math.abs(b.delta) - Math.abs(a.delta) || a.step - b.step)[0];
  const alike = frames.filter((frame) => frame.step > 0 && frame.rows.length > 1 && new Set(frame.accepted).size === 1 && frame.rows.every((row) => frame.after[row]));
  const calm = alike.sort((a, b) => b.accepted[0] - a.accepted[0] || a.step - b.step)[0];
  if (!one || !calm) return null;
  const all = Object.keys(one.frame.after).map((row) => rowOf(one.frame, Number(row)));
  const longest = all.find(({ c }) => c === one.width);
  const still = all.find(({ delta }) => !delta);
  const entries = all.reduce((sum, { c }) => sum + c, 0); // of every row, whether it moves or not
  if (!longest || !still || one.frame.bytes !== entries * entryBytes(fold.header)) return null;
  return {
    ...one, row: one.id + 1, by: Math.abs(one.delta), signed: `${one.delta < 0 ? '−' : '+'}${Math.abs(one.delta)}`, size: (one.frame.bytes / 1e6).toFixed(1),
    still: still && still.id + 1, entries, each: all.map(({ c }) => c).join(' + '), kept: one.got - 1,
    calmRound: calm.step, calmRow: calm.rows[0], j: calm.accepted[0], grown: calm.accepted[0] + 1, rows: calm.rows.length,
    movers: calm.rows.filter((row) => (calm.origin[row] ?? []).some((from, slot) => from >= 0 && from !== slot)).length,
  };
}

/** One row of a realignment: pads before and after, entries kept, the batch's width, and what the copy did to them. */
function rowOf(frame, id) {
  const [before, after, fed] = [padsOf(frame.before[id]), padsOf(frame.after[id]), frame.fed[id]];
  const map = frame.after[id];
  const entries = map.owner.map((owner, slot) => ({ owner, slot, from: frame.origin[id]?.[slot] ?? -1 })).filter(({ owner, from }) => owner >= 0 && from >= 0);
  const same = (list, { slot, from }) => map[list][slot] === fed[list][from];
  const fate = entries.every((entry) => same('position', entry) && same('token', entry)) ? 'copied' : entries.every((entry) => same('token', entry)) ? 'rotated' : 'recomputed';
  const last = entries.at(-1);
  return { frame, id, step: frame.step, round: frame.step, pads: before, after, delta: after - before, c: owned(map).length, had: owned(frame.before[id]).length, got: owned(map).length - owned(frame.before[id]).length, width: frame.width_after, fate, token: last?.owner, position: last && map.position[last.slot] };
}

function steps(f) {
  const at = { left: LANE, right: LANE, row: f.id, step: f.round };
  const most = Math.max(f.by + 2, f.frame.draft[0]?.length ?? 0);
  return [
    {
      kind: 'predict', ask: say('realign.predict', f), answer: f.fate, view: { ...at, view: 'kinds' },
      options: ['copied', 'rotated', 'recomputed'].map((value) => ({ value, text: say(`realign.${value}`) })),
      right: say(f.fate === 'copied' ? 'realign.because.predict' : 'realign.notCopied', f),
      miss: (bet) => say(f.fate === 'copied' ? (bet === 'rotated' ? 'realign.notRotated' : 'realign.notRecomputed') : 'realign.notCopied', f),
    },
    {
      kind: 'act', ask: say('realign.act', f), view: { ...at, view: 'kinds' }, reveal: { view: 'move' }, done: say('realign.done', f),
      mount: (box, api) => mountShift(box, api, { ...f, low: -most, high: most, answer: f.delta, miss: (sum) => say(sum > f.width ? 'realign.tooWide' : 'realign.tooNarrow', { ...f, sum }) }),
    },
    {
      kind: 'check', ask: say('realign.check', f), answer: f.movers, options: numbers(0, f.rows), view: { ...at, row: f.calmRow, step: f.calmRound, view: 'kinds' }, reveal: { view: 'move' },
      right: say(f.movers === 0 ? 'realign.notAll' : 'realign.theyDo', f),
      miss: (n) => say(f.movers === 0 ? (n === f.rows ? 'realign.notAll' : 'realign.notOthers') : 'realign.theyDo', f),
    },
  ];
}
