// Chapter 2: clean up. Against "rejected drafts vanish by themselves".

import { bare, choices, columnsOf, draftRounds, owned, word } from './lesson_facts.js';
import { mountCut } from './lesson_cut.js';
import { say } from './lesson_strings.js';

export default { key: 'cleanup', trace: 'hero', facts, steps };

/** A row that keeps a few of its drafts and goes on: what the forward wrote, and what the clean-up left. */
function facts(fold) {
  const one = draftRounds(fold, 'eqspec').filter(({ k, j, frame, row }) => j > 0 && j < k && frame.after[row]).sort((a, b) => a.step - b.step || a.j - b.j)[0];
  if (!one) return null;
  const { frame, row, i, k, j } = one;
  const cells = columnsOf(one, 2);
  const held = new Set(owned(frame.after[row]));
  const first = frame.slots[i];
  const fed = frame.fed[row];
  const newest = frame.length[row] - 1;
  const words = { kept: word(fold, frame.draft[i][j - 1]), rejected: word(fold, frame.draft[i][j]), newest: word(fold, frame.emitted[i].at(-1)) };
  const matched = cells.filter(({ kind }) => kind === 'rejected').slice(1).find(({ id, choice }) => id === choice);
  return {
    one, k, j, row: row + 1, round: one.step, cells,
    written: owned({ owner: fed.owner.slice(first) }).length,
    keep: cells.filter(({ slot }) => held.has(fed.owner[slot]) && fed.owner[slot] <= newest - 1).length,
    words, newest: words.newest, rejected: words.rejected, matched: matched && word(fold, matched.id),
    missing: held.has(newest) ? 'none' : 'newest',
    name: (id) => word(fold, id), bare: (id) => bare(fold, id),
  };
}

function steps(f) {
  const at = { left: 'eqspec', right: 'eqspec', row: f.one.row, step: f.round };
  const before = { ...at, step: f.round - 1 };
  return [
    {
      kind: 'predict', ask: say('cleanup.predict', f), options: choices(f.j, f.j + 1, f.k, f.k + 1, f.written), answer: f.written, view: before,
      right: say(f.written === f.k + 1 ? 'cleanup.because.predict' : 'cleanup.because.predictOther', { k: f.k, fed: f.k + 1 }),
      miss: (n) => say(n <= f.j + 1 ? 'cleanup.vanish' : n < f.written ? 'cleanup.refed' : 'cleanup.every'),
    },
    {
      kind: 'act', ask: say('cleanup.act', f), view: { ...at, view: 'kinds' }, truth: say('cleanup.shown', { n: f.written }), truthAt: 'entry',
      done: [say('cleanup.done', { n: f.cells.length - f.keep }), f.matched && say('cleanup.matched', { word: f.matched })].filter(Boolean).join(' '),
      mount: (box, api) => mountCut(box, api, {
        lines: [{ name: say('cleanup.over'), cells: f.cells.map((cell) => ({ ...cell, text: f.bare(cell.id), under: cell.choice === null ? '' : f.bare(cell.choice) })) }],
        label: say('cleanup.edge'), button: say('cleanup.cut'), under: say('cleanup.under'), answer: f.keep, start: f.cells.length,
        miss(n) {
          if (n > f.keep) {
            const bad = f.cells.slice(0, n).find(({ kind }) => kind === 'rejected');
            return say('cleanup.keepsBad', { word: f.name(bad.id), choice: f.name(bad.choice) });
          }
          const good = f.cells[n];
          return say(good.kind === 'kept' ? 'cleanup.losesGood' : 'cleanup.losesOld', { word: f.name(good.id) });
        },
      }),
    },
    {
      kind: 'check', ask: say('cleanup.check', f), answer: f.missing, view: at, right: say(f.missing === 'none' ? 'cleanup.because.checkOther' : 'cleanup.because.check', f.words),
      options: [...['kept', 'rejected', 'newest'].map((value) => ({ value, text: f.words[value] })), { value: 'none', text: say('cleanup.none') }],
      miss: (which) => (which === 'none' ? say('cleanup.notFed') : say(which === 'rejected' ? 'cleanup.gone' : 'cleanup.fed', { word: f.words[which] })),
    },
  ];
}
