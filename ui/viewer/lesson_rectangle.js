// Chapter 3: the rectangle. Against "padding corrupts". On the second recorded run: pads masked, seen, counted.

import { padsOf, word } from './lesson_facts.js';
import { firstWrong } from './gaps.js';
import { el } from './svg.js';
import { say } from './lesson_strings.js';

const wild = { 'nnsight issue #672': 'https://github.com/ndif-team/nnsight/issues/672' };

export default { key: 'rectangle', trace: 'faults', facts, steps, wild };

/** The row with the most pads that seeing them breaks; else the one with the most pads. */
function facts(fold) {
  const { eqspec, pads_seen: seen, pads_counted: counted } = fold.lanes;
  if (!eqspec?.frames.length || !seen?.frames.length || !counted?.frames.length) return null;
  const prefill = eqspec.frames[0];
  const broken = (row) => (seen.rows[row].compare?.verdict === 'bug' ? 1 : 0);
  const id = prefill.rows.slice().sort((a, b) => broken(b) - broken(a) || padsOf(prefill.fed[b]) - padsOf(prefill.fed[a]))[0];
  const pads = padsOf(prefill.fed[id]);
  const wrong = firstWrong(fold, 'pads_seen', id);
  const offset = shift(counted, id);
  if (!pads || !eqspec.rows[id].compare || !counted.rows[id].compare || !offset) return null;
  const rotarySame = counted.rows[id].compare.verdict === 'equal';
  return {
    id, row: id + 1, pads, offset, n: counted.rows[id].compare.checked, checked: eqspec.rows[id].compare.checked, wrong, step: wrong?.step ?? seen.frames.at(-1).step, shifted: counted.frames.filter((frame) => frame.step > 0 && shiftIn(frame, id) === offset).map(({ step }) => step), // pads come and go as rows grow
    text: eqspec.rows[id].compare.verdict === 'equal' ? 'same' : 'words',
    expected: wrong && word(fold, wrong.expected), actual: wrong && word(fold, wrong.actual),
    notice: rotarySame ? 'learned' : 'all',
  };
}

/** By how much all positions of a row are higher than its content indices; 0 when they are not all. */
function shift(lane, row) {
  return shiftIn(lane.frames.find((f) => f.step > 0 && f.rows.includes(row)), row);
}

function shiftIn(frame, row) {
  const map = frame?.fed[row];
  const by = new Set((map?.owner ?? []).flatMap((owner, slot) => (owner < 0 ? [] : [map.position[slot] - owner])));
  return by.size === 1 ? [...by][0] : 0;
}

function steps(f) {
  const at = { left: 'eqspec', right: 'eqspec', row: f.id, step: 0, view: 'kinds' };
  return [
    {
      kind: 'predict', hide: true, ask: say('rectangle.predict', f), answer: f.text, view: at, miss: () => say(f.text === 'same' ? 'rectangle.corrupts' : 'rectangle.notSame'),
      right: say(f.text === 'same' ? 'rectangle.because.predict' : 'rectangle.notSame', f),
      options: ['same', 'words', 'broken'].map((value) => ({ value, text: say(`rectangle.${value}`) })),
    },
    {
      kind: 'act', ask: say('rectangle.act', f), view: { ...at, step: f.step }, truthAt: 'entry', reveal: { right: 'pads_seen', step: f.step, view: 'mask' }, // where the two runs differ
      done: say(f.wrong ? 'rectangle.shown' : 'rectangle.survived', f),
      mount(box, api) {
        box.append(el('button', { type: 'button', onclick: () => api.solve() }, say('rectangle.show')));
      },
    },
    {
      kind: 'check', hide: true, ask: say('rectangle.check', { ...f, pads: f.offset }), answer: f.notice, note: say('rectangle.label'),
      right: say(f.notice === 'all' ? 'rectangle.because.checkOther' : 'rectangle.because.check', f),
      view: { ...at, left: 'pads_counted', right: 'pads_counted', step: f.shifted[0], view: 'positions' }, reveal: { left: 'eqspec', right: 'pads_counted', step: f.shifted.at(-1) }, // the shifted ids first; what was written, beside EQSPEC's, after the answer
      options: ['nobody', 'learned', 'rotary', 'all'].map((value) => ({ value, text: say(`rectangle.${value}`) })),
      miss: (who) => say(f.notice === 'all' ? 'rectangle.rotaryYes' : who === 'nobody' ? 'rectangle.learnedYes' : who === 'all' ? 'rectangle.half' : 'rectangle.rotaryNo', { ...f, pads: f.offset }),
    },
  ];
}
