// Chapter 4: nobody agrees where to crop. Against "just take the minimum".

import { bare, choices, columnsOf, draftRounds, word } from './lesson_facts.js';
import { mountCut } from './lesson_cut.js';
import { say } from './lesson_strings.js';
import { rowName } from './strings.js';

export default { key: 'crop', trace: 'hero', facts, steps };

/** The round whose rows disagree most about how many drafts to keep. */
function facts(fold) {
  const byStep = new Map();
  for (const r of draftRounds(fold, 'eqspec')) byStep.set(r.step, [...(byStep.get(r.step) ?? []), r]);
  const rounds = [...byStep.values()].filter((rows) => rows.length > 1 && new Set(rows.map(({ k }) => k)).size === 1);
  const distinct = (rows) => new Set(rows.map(({ j }) => j)).size;
  const rows = rounds.sort((a, b) => distinct(b) - distinct(a) || a[0].step - b[0].step)[0];
  if (!rows) return null;
  const kept = rows.map(({ j }) => j);
  const min = Math.min(...kept);
  return {
    rows, kept, min, k: rows[0].k, round: rows[0].step, list: kept.join(', '),
    suits: min === Math.max(...kept) ? 'min' : 'no', lost: kept.map((j) => j - min), discarded: kept.reduce((sum, j) => sum + j - min, 0),
    rejected: rows.reduce((sum, { k, j }) => sum + k - j, 0), name: (id) => word(fold, id), bare: (id) => bare(fold, id),
  };
}

function steps(f) {
  const at = { left: 'eqspec', right: 'bsp', row: f.rows[f.kept.indexOf(f.min)].row, step: f.round, view: 'kinds' };
  const lines = f.rows.map((r) => ({
    name: rowName(r.row), cells: columnsOf(r).map((cell) => ({ ...cell, text: f.bare(cell.id), under: '' })),
  }));
  return [
    {
      kind: 'predict', ask: say('crop.predict', f), answer: f.suits, view: at, options: ['min', 'max', 'no'].map((value) => ({ value, text: say(`crop.${value}`) })),
      right: say(f.suits === 'min' ? 'crop.agrees' : 'crop.because.predict', f),
      miss: (which) => say(f.suits === 'min' ? 'crop.agrees' : which === 'min' ? 'crop.loses' : 'crop.keeps'),
    },
    {
      kind: 'act', ask: say('crop.act', f), view: at, truthAt: 'entry', done: say('crop.done', { list: f.rows.map((r, n) => say('crop.lost', { row: r.row + 1, n: f.lost[n] })).join(say('and')) }),
      mount: (box, api) => mountCut(box, api, {
        lines, marks: true, label: say('crop.edge'), button: say('crop.cut'), answer: f.min + 1, start: f.k + 1,
        miss(n) {
          if (n < f.min + 1) return say('crop.losesMore');
          const r = f.rows.find(({ j }) => j < n - 1);
          return say('crop.rowKeeps', { row: r.row + 1, word: f.name(r.frame.draft[r.i][r.j]) });
        },
      }),
    },
    {
      kind: 'check', ask: say('crop.check', f), answer: f.discarded, view: at, right: say('crop.because.check', { ...f, sum: f.lost.join(' + ') }),
      options: choices(0, Math.max(...f.lost), f.discarded, f.discarded + 1, f.rejected),
      miss: (n) => say(n === 0 ? 'crop.notFree' : n === f.rejected ? 'crop.notRejected' : n === Math.max(...f.lost) ? 'crop.notOne' : 'crop.miscount'),
    },
  ];
}
