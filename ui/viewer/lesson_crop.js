// Chapter 4: nobody agrees where to crop. Against "just take the minimum".

import { bare, choices, columnsOf, draftRounds, word } from './lesson_facts.js';
import { mountCut } from './lesson_cut.js';
import { say } from './lesson_strings.js';
import { rowName } from './strings.js';

export default { key: 'crop', trace: 'hero', facts, steps };

/** Rounds of a lane whose rows all had as many drafts, those that disagree most about how many to keep first. */
function roundsOf(fold, lane) {
  const byStep = new Map();
  for (const r of draftRounds(fold, lane)) byStep.set(r.step, [...(byStep.get(r.step) ?? []), r]);
  const rounds = [...byStep.values()].filter((rows) => rows.length > 1 && new Set(rows.map(({ k }) => k)).size === 1);
  const distinct = (rows) => new Set(rows.map(({ j }) => j)).size;
  return rounds.sort((a, b) => distinct(b) - distinct(a) || a[0].step - b[0].step);
}

const hasCut = ([{ frame }]) => frame.cut.some(Boolean); // accepted, but the text ended: not all of it was kept

/** One round to cut by hand, and another one to count in: EQSPEC's, or BSP's below it. */
function facts(fold) {
  const [rows, ...more] = roundsOf(fold, 'eqspec');
  if (!rows) return null;
  const others = [...more.map((round) => ['eqspec', round]), ...roundsOf(fold, 'bsp').map((round) => ['bsp', round])].map(([lane, round]) => ({ lane, rows: round, ...lossOf(round) }));
  const other = others.filter((one) => one.discarded && !hasCut(one.rows)).sort((a, b) => new Set(b.kept).size - new Set(a.kept).size)[0] ?? { lane: 'eqspec', rows, ...lossOf(rows) };
  return { ...lossOf(rows), rows, name: (id) => word(fold, id), bare: (id) => bare(fold, id), other };
}

/** What one cut for all rows of a round keeps and throws away. */
function lossOf(rows) {
  const kept = rows.map(({ j }) => j);
  const min = Math.min(...kept);
  return {
    kept, min, k: rows[0].k, round: rows[0].step, list: kept.join(', '),
    suits: min === Math.max(...kept) ? 'min' : 'no', lost: kept.map((j) => j - min), discarded: kept.reduce((sum, j) => sum + j - min, 0),
    rejected: rows.reduce((sum, { k, j }) => sum + k - j, 0),
  };
}

function steps(f) {
  const { other } = f;
  const most = Math.max(...other.lost);
  const at = { left: 'eqspec', right: 'eqspec', row: f.rows[f.kept.indexOf(f.min)].row, step: f.round, view: 'kinds' };
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
      kind: 'act', ask: say('crop.act', f), view: at, done: say('crop.done', { list: f.rows.flatMap((r, n) => (f.lost[n] ? [say('crop.lost', { row: r.row + 1, n: f.lost[n] })] : [])).join(say('and')) }),
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
      kind: 'check', ask: say(other.lane === 'eqspec' ? 'crop.check' : 'crop.checkOther', other), answer: other.discarded, view: other.lane === 'eqspec' ? { ...at, row: other.rows[0].row, step: other.round } : at, right: say('crop.because.check', { ...other, sum: other.lost.join(' + ') }),
      options: choices(0, most, other.discarded, other.discarded + 1, other.discarded + 2, other.rejected),
      miss: (n) => say(n === 0 ? 'crop.notFree' : n === other.rejected ? 'crop.notRejected' : n === most ? 'crop.notOne' : 'crop.miscount'),
    },
  ];
}
