// Chapter 6: which defect? Against "holes, masks or offsets are the bug".

import { padsOf } from './lesson_facts.js';
import { tellingWrong } from './clock.js';
import { firstWrong, ribbonOf } from './gaps.js';
import { countEqual } from './verdict.js';
import { mountRank } from './lesson_rank.js';
import { el } from './svg.js';
import { say } from './lesson_strings.js';
import { t } from './strings.js';

const wild = { 'unsloth issue #3699': 'https://github.com/unslothai/unsloth/issues/3699', 'nnsight PR #673': 'https://github.com/ndif-team/nnsight/pull/673' };

const byDraft = (gap) => gap.dead.some(({ kind }) => kind === 'rejected');

export default { key: 'defect', trace: 'hero', facts, steps, wild, repair: true }; // the only chapter that offers it, after its exercise

/** Both BSP lanes: what each has inside, and what became of its text. */
function facts(fold) {
  const { eqspec, bsp, bsp_repaired: repaired } = fold.lanes;
  const wrong = bsp && repaired && tellingWrong({ fold, left: 'eqspec', right: 'bsp', row: 0, oneRow: false });
  if (!wrong || !eqspec?.frames.length) return null;
  const [equal, before] = [countEqual(fold, 'bsp_repaired'), countEqual(fold, 'bsp')];
  if (equal.equal <= before.equal) return null; // then this run says nothing about the positions
  const ribbons = (lane) => Object.keys(fold.lanes[lane].rows).map((row) => ribbonOf(fold, lane, Number(row), Infinity)).filter(Boolean);
  const most = (list, size) => list.map((r) => ({ row: r.row, n: size(r) })).sort((a, b) => b.n - a.n)[0];
  const pads = eqspec.frames.flatMap((frame) => frame.rows.map((row) => ({ row, step: frame.step, n: padsOf(frame.fed[row]) }))).sort((a, b) => b.n - a.n)[0];
  const holes = most(ribbons('bsp_repaired'), (r) => r.seams.reduce((sum, seam) => sum + seam.dead.length, 0));
  const last = fold.lanes.bsp_repaired.frames.at(-1).step;
  const item = (key, lane, { row, n, step = last }) => ({
    at: { left: 'eqspec', right: lane === 'eqspec' ? 'bsp' : lane, row, step },
    text: say(`defect.item${key}`, { row: row + 1, n }), answer: fold.lanes[lane].rows[row].compare?.verdict === 'equal' ? 'harmless' : 'harmful', wrong: firstWrong(fold, lane, row)?.generated + 1,
  });
  const torn = ribbonOf(fold, 'bsp', wrong.row, wrong.step);
  return {
    rows: equal.rows, equal: equal.equal, before: before.equal, row: wrong.row + 1, id: wrong.row, step: wrong.step, clear: clearing(fold, pads),
    items: [item('Pads', 'eqspec', pads), item('Gaps', 'bsp', { row: wrong.row, step: wrong.step, n: torn.gaps.map(({ size }) => t('gapSize', { n: size })).join(say('and')) }), item('Holes', 'bsp_repaired', holes)],
  };
}

/** What clears a suspect, where this run shows it: {pads, holes, masks}, each {said, show}. */
function clearing(fold, pads) {
  const wrongs = Object.keys(fold.lanes.bsp.rows).map(Number).flatMap((row) => {
    const wrong = firstWrong(fold, 'bsp', row);
    const gaps = wrong && ribbonOf(fold, 'bsp', row, wrong.step)?.gaps.filter(({ before }) => before < wrong.index);
    return gaps?.length ? [{ row, wrong, padded: gaps.filter(({ before }) => before === fold.lanes.bsp.rows[row].prompt).length, gaps }] : [];
  });
  const found = { pads: wrongs.find(({ padded }) => !padded), holes: wrongs.find(({ padded, gaps }) => padded === gaps.length && !gaps.some(byDraft)) };
  const of = (what) => found[what] && {
    said: say(`defect.clear.${what}`, { row: found[what].row + 1, n: found[what].wrong.generated + 1 }),
    show: { row: found[what].row, step: found[what].wrong.step, cell: { lane: 'bsp', row: found[what].row, index: found[what].wrong.index }, view: 'kinds' },
  };
  const whole = pads.n > 0 && Object.values(fold.lanes.eqspec.rows).every((r) => r.compare?.verdict === 'equal');
  return { pads: of('pads'), holes: of('holes'), masks: whole && { said: say('defect.clear.masks', { row: pads.row + 1, n: pads.n }), show: { row: pads.row, step: pads.step, cell: null, view: 'mask' } } };
}

function steps(f) {
  const at = { left: 'eqspec', right: 'bsp', row: f.id, step: f.step };
  const evidence = (what) => f.clear[what]?.said ?? say('defect.unclear');
  const answer = f.items.map((item) => item.answer).join(' ');
  const list = f.items.map((item) => `${item.text}: ${say(`rank.${item.answer}`)}`).join('; ');
  return [
    {
      kind: 'predict', hide: true, ask: say('defect.predict', f), answer: 'positions', view: at, right: say('defect.because.predict'), miss: evidence,
      options: ['pads', 'holes', 'masks', 'positions'].map((value) => ({ value, text: say(`defect.${value}`) })),
    },
    {
      kind: 'act', hide: 'why', ask: say('defect.act', f), view: at, reveal: { ...at, right: 'bsp_repaired' }, done: say('defect.done', f),
      mount(box, api) {
        const ask = (what, button) => {
          if (what === 'positions') return api.solve();
          if (f.clear[what]) {
            api.show({ ...at, ...f.clear[what].show });
            button.textContent = say('defect.cleared', { what: say(`defect.${what}`) });
          }
          return api.miss(evidence(what), f.clear[what] ? 'cleared' : 'wrong');
        };
        box.append(...['pads', 'holes', 'masks', 'positions'].map((what) => el('button', { type: 'button', onclick: ({ currentTarget }) => ask(what, currentTarget) }, say(`defect.${what}`))));
      },
    },
    {
      kind: 'check', hide: true, ask: say('defect.check'), view: f.items[0].at, answer, key: () => list,
      right: say(answer === 'harmless harmful harmless' ? 'defect.because.check' : 'defect.because.checkOther', { n: f.items[1].wrong, row: f.row, list }),
      mount: (box, api) => mountRank(box, api, f.items, (item) => say(item.answer === 'harmless' ? 'defect.missHarmless' : 'defect.missHarmful', { item: item.text, n: item.wrong })),
    },
  ];
}
