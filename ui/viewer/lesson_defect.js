// Chapter 6: which defect? Against "holes, masks or offsets are the bug".

import { padsOf } from './lesson_facts.js';
import { tellingWrong } from './clock.js';
import { firstWrong, ribbonOf } from './gaps.js';
import { countEqual } from './verdict.js';
import { mountRank } from './lesson_rank.js';
import { el } from './svg.js';
import { say } from './lesson_strings.js';
import { t } from './strings.js';

const wild = { 'unsloth #3699': 'https://github.com/unslothai/unsloth/issues/3699', 'nnsight PR #673': 'https://github.com/ndif-team/nnsight/pull/673' };

export default { key: 'defect', trace: 'hero', facts, steps, wild, repair: true }; // the only chapter that offers it

/** Both BSP lanes: what each has inside, and what became of its text. */
function facts(fold) {
  const { eqspec, bsp, bsp_repaired: repaired } = fold.lanes;
  const wrong = bsp && repaired && tellingWrong({ fold, left: 'eqspec', right: 'bsp', row: 0, oneRow: false });
  if (!wrong || !eqspec?.frames.length) return null;
  const [equal, before] = [countEqual(fold, 'bsp_repaired'), countEqual(fold, 'bsp')];
  if (equal.equal <= before.equal) return null; // then this run says nothing about the positions
  const ribbons = (lane) => Object.keys(fold.lanes[lane].rows).map((row) => ribbonOf(fold, lane, Number(row), Infinity)).filter(Boolean);
  const most = (list, size) => list.map((r) => ({ row: r.row, n: size(r) })).sort((a, b) => b.n - a.n)[0];
  const pads = eqspec.frames.flatMap((frame) => frame.rows.map((row) => ({ row, n: padsOf(frame.after[row]) }))).sort((a, b) => b.n - a.n)[0];
  const holes = most(ribbons('bsp_repaired'), (r) => r.seams.reduce((sum, seam) => sum + seam.dead.length, 0));
  const item = (key, lane, { row, n }) => ({
    text: say(`defect.item${key}`, { row: row + 1, n }), answer: fold.lanes[lane].rows[row].compare?.verdict === 'equal' ? 'harmless' : 'harmful', wrong: firstWrong(fold, lane, row)?.generated + 1,
  });
  const torn = ribbonOf(fold, 'bsp', wrong.row, wrong.step);
  return {
    rows: equal.rows, equal: equal.equal, before: before.equal, row: wrong.row + 1, id: wrong.row, step: wrong.step, whole: Object.values(eqspec.rows).every((r) => r.compare?.verdict === 'equal'),
    items: [item('Pads', 'eqspec', pads), item('Gaps', 'bsp', { row: wrong.row, n: torn.gaps.filter(({ before: at }) => at < wrong.index).map(({ size }) => t('gapSize', { n: size })).join(say('and')) }), item('Holes', 'bsp_repaired', holes)],
  };
}

function steps(f) {
  const at = { left: 'eqspec', right: 'bsp', row: f.id, step: f.step };
  const evidence = (what) => say(what === 'holes' ? 'defect.keeps' : f.whole ? 'defect.have' : 'defect.broken'); // what shows that it is not this
  const answer = f.items.map((item) => item.answer).join(' ');
  const list = f.items.map((item) => `${item.text}: ${say(`rank.${item.answer}`)}`).join('; ');
  return [
    {
      kind: 'predict', hide: true, ask: say('defect.predict', f), answer: 'positions', view: at, right: say('defect.because.predict'), miss: evidence,
      options: ['pads', 'holes', 'masks', 'positions'].map((value) => ({ value, text: say(`defect.${value}`) })),
    },
    {
      kind: 'act', ask: say('defect.act', f), view: at, reveal: { right: 'bsp_repaired' }, truth: say('defect.shown', f),
      watch: (state, changed, api) => { if (changed.has('right') && state.right === 'bsp_repaired') api.solve(); },
      mount(box, api) {
        box.append(
          ...['Pads', 'Masks'].map((what) => el('button', { type: 'button', onclick: () => api.miss(evidence(what)) }, say(`defect.do${what}`))),
          el('button', { type: 'button', onclick: () => api.miss(say('defect.tryPositions')) }, say('defect.doHoles')),
          el('button', { type: 'button', onclick: () => api.solve() }, say('defect.doPositions')),
        );
      },
    },
    {
      kind: 'check', ask: say('defect.check'), view: at, answer, key: () => list,
      right: say(answer === 'harmless harmful harmless' ? 'defect.because.check' : 'defect.because.checkOther', { n: f.items[1].wrong, list }),
      mount: (box, api) => mountRank(box, api, f.items, (item) => say(item.answer === 'harmless' ? 'defect.missHarmless' : 'defect.missHarmful', { item: item.text, n: item.wrong })),
    },
  ];
}
