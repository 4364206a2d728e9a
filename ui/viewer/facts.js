// Everything known about one token of one row at one round, each fact with the event and field that it was read from.
// A fact: {key, value, from, step, absent, mark}. A value is {id}, a number or words; an absent one names who would carry it.

import { ribbonOf } from './gaps.js';
import { bornAt } from './born.js';
import { originFacts, verdictFacts } from './facts_origin.js';
import { memoryFacts } from './facts_memory.js';
import { bytesOf } from './token_text.js';
import { t } from './strings.js';

/** One fact. `from`: "verify.choice[1][2]"; the numbers are indices into that event of this lane and step. */
export function fact(key, value, from = '', step = undefined, mark = '') {
  return { key, value, from, step, mark, absent: false };
}

/** A number that this trace does not have, and the field that would carry it. */
export function absent(key, from, why = t('inspect.absent')) {
  return { key, value: why, from, step: undefined, mark: '', absent: true };
}

/** {lane, row, index, generated, id, later, born, step, columns: [[{key, facts}]]} of a cell, or null when the trace has no such
 *  token. `step`: the row's newest round up to now; `later`: the token is not written before `born`. */
export function factsOf(state, { lane, row, index }) {
  const { fold, step } = state;
  const own = fold?.lanes[lane]?.rows[row];
  if (!own || index < 0 || index >= own.ids.length) return null;
  const n = index - own.prompt;
  const born = n < 0 ? null : bornAt(fold.lanes[lane], row, n);
  const ribbon = ribbonOf(fold, lane, row, step);
  const at = { fold, lane, row, index, n, id: own.ids[index], born, ribbon, step };
  const later = born && born.frame.step > step;
  return {
    lane, row, index, generated: n, id: at.id, later, born: born?.frame.step ?? null, step: ribbon?.frame.step ?? step,
    columns: [
      [{ key: 'token', facts: tokenFacts(at) }, { key: 'memory', facts: later || !ribbon ? [absent('slot', 'kv.runs', t('inspect.notYet'))] : memoryFacts(at) }],
      [{ key: 'origin', facts: originFacts(at) }, { key: 'verdict', facts: verdictFacts(at) }],
    ],
  };
}

function tokenFacts({ fold, row, index, n, id, born }) {
  const piece = fold.pieces[id];
  const prompt = fold.header.prompts.findIndex((p) => p.row === row);
  const from = born ? `commit.emitted[${born.i}][${born.j}]` : `header.prompts[${prompt}].ids[${index}]`;
  return [
    fact('id', id, from, born?.frame.step),
    piece ? fact('bytes', bytesOf(piece), `pieces[${id}]`) : absent('bytes', 'pieces'),
    fact('index', t(n < 0 ? 'inspect.indexPrompt' : 'inspect.indexNew', { index, n: n + 1 })),
  ];
}
