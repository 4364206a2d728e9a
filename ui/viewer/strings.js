// Every word on the stage. Another language is another table of the same shape: setStrings(table).
// `{name}` is a value; text goes to the page as text, never as markup.

import { DEBUG } from './strings_debug.js';
import { DROP } from './strings_drop.js';
import { EXPORT, NOTE } from './strings_export.js';
import { INSPECT } from './strings_inspect.js';
import { MARKDOWN } from './strings_markdown.js';
import { MICRO } from './strings_micro.js';
import { PREDICT } from './strings_predict.js';
import { WHAT_IF } from './strings_what_if.js';

const EN = {
  language: 'en',
  stage: 'Batch speculative decoding, round by round',
  lane: { eqspec: 'EQSPEC', exspec: 'EXSPEC', slots: 'SLOTS', rollback: 'Rollback', dsd: 'DSD', bsp: 'BSP', bsp_repaired: 'BSP', autoregressive: 'Alone', pads_seen: 'DSD', pads_counted: 'DSD' },
  laneNote: { bsp_repaired: 'positions repaired', pads_seen: 'pads seen', pads_counted: 'pads counted' },
  laneWith: '{lane} ({note})',
  laneLong: { bsp_repaired: 'BSP repaired' },

  claim: 'Same model, same prompts.', claimHidden: 'What comes out is told after your answer.', claimStopped: 'Stopped: only the tokens written so far are compared.',
  claimLane: '{lane}: {equal} of {rows} rows equal the row run alone.',
  claimLaneShort: '{lane}: {equal} of {rows}.',
  claimTie: '{lane}: {equal} of {rows}, {ties} more up to rounding.',
  claimWait: '{lane}: checking…', claimNotCompared: '{lane}: not compared with the row run alone.',
  claimPhone: '{lane}: {equal} of {rows} rows equal the row alone.',
  gist: 'Both guess tokens ahead and reject wrong guesses. EQSPEC takes the rejected out of memory; BSP hides them and counts on, and counts the pads after a prompt too, so its position ids have gaps.',
  gistRepaired: 'Both guess tokens ahead and reject wrong guesses. EQSPEC takes the rejected out of memory; BSP hides them and, repaired, counts tokens alone, neither pads nor rejected guesses: its position ids have no gaps.',
  gistOther: 'Both lanes decode the same prompts with the same model; every row is compared with the same row run alone.',
  method: {
    autoregressive: 'Alone writes one token per pass, without drafts.', eqspec: 'EQSPEC takes rejected drafts out of memory and shifts rows after every round, so that the batch stays a rectangle.',
    exspec: 'EXSPEC decodes rows of equal length together: such a group shifts nothing while its rows accept alike; else it realigns before its pass.',
    slots: 'SLOTS gives every row its own place in memory and never moves an entry.', rollback: 'Rollback lets every row keep only as many drafts as the slowest row.',
    bsp: 'BSP hides rejected drafts and pads, and counts on over them.', dsd: 'DSD keeps nothing in memory and feeds whole rows again every round.',
  },
  claimNone: 'A correct and a broken way to decode a batch.',

  theme: 'Dark or light',
  help: 'Keys',
  legend: 'Legend',
  kept: 'kept', fresh: 'new: accepted draft', target: 'new: the model’s own token', rejected: 'rejected', gap: 'gap', padSlot: 'pad or unused slot', unfed: 'not fed yet',
  foldPrompts: 'Fold the prompts', unfoldPrompts: 'Show the prompts',
  prompt: 'prompt · {n}',
  from: '… from {x}',
  ruler: 'position after prompt',
  rulerZero: 'position id, counted from the end of each prompt',
  offset: 'all {by}', offsetWhy: 'every position id of this row is {n} away from its place in the row',
  against: 'against the row run alone',
  tearHint: '{n} positions skipped: {rejected} rejected drafts, {pads} pads or unused draft slots',
  seamHint: '{n} dead slots in memory here; no position counts them',
  gapSize: '+{n}', gapBack: '−{n}',

  row: 'Row {n}', rowInText: 'row {n}',
  promptTokens: '{n} prompt tokens',
  chooseRow: 'Row',
  allRows: 'Show all {n} rows', fewRows: 'Show three rows', rowOrder: 'rows: longest prompt first',
  output: '{lane}, row {row}: output',
  empty: 'nothing yet',
  instead: 'alone: {word}',
  endToken: 'end', noToken: 'a token that this trace does not name',
  ribbon: '{lane}, row {row}: {tokens} tokens, {gaps}',
  noGaps: 'no gap', someGaps: 'gaps {sizes}',

  equal: 'equal, {n} of {n}', equalSoFar: 'equal so far, {n} of {n}',
  rounding: 'rounding tie at token {n}',
  differs: 'differs from token {n}',
  endsEarly: 'ends differently, at token {n}',
  checking: 'checking…', notCompared: 'not compared',
  noLane: 'no such lane in this trace',
  doneRow: 'done', stoppedRow: 'stopped',
  firstBroken: 'first broken: {what}, round {step}{fed}',
  cause: 'cause: {what}, round {step}{fed}', gapFed: ' (first fed)', // a gap opens a round before
  causeWhy: 'the same run with repaired position ids equals the row run alone',
  invariant: {
    kv: 'KV entry', contiguity: 'position gap', mask: 'mask', input: 'input', emission: 'output', rectangle: 'rectangle',
  },

  play: 'Play', pause: 'Pause', replay: 'Play again', back: 'Previous round', forward: 'Next round', toLive: 'Live',
  round: 'round {step} of {last}', prefill: 'prompts read', scrub: 'Round',
  markGap: 'first gap opens', markWrong: 'first wrong word', markTie: 'rounding tie',
  markGapWhy: 'Round {step} chooses the token behind the first gap ({row}); round {fed} feeds it, and only then can the check find it.',
  markGapOpen: 'Round {step} chooses the token behind the first gap ({row}); it was never fed.',
  markWrongWhy: 'Round {step} writes the first wrong word ({row}).',
  markTieWhy: 'Round {step} writes the first word that differs, by a tie that rounding decides ({row}).',
  speed: 'speed ×{n}',

  repair: "Repair only BSP's position ids",
  undo: 'Undo repair',
  noRepair: 'This trace has no repaired lane.',
  repairWait: 'The repaired run is still being computed.',

  drafts: { one: '{n} draft', other: '{n} drafts' },
  places: { one: '{n} position', other: '{n} positions' },
  deadSlots: { one: '{n} dead slot', other: '{n} dead slots' },
  unusedSlots: { one: '{n} unused draft slot stays', other: '{n} unused draft slots stay' },
  tears: { one: '{n} gap', other: '{n} gaps' },
  tokens: { one: '{n} token', other: '{n} tokens' },
  steps: { one: '{n} step', other: '{n} steps' },

  sayPrefill: 'The prompts are read; every row gets its first answer token.',
  sayPads: '{right} pads on the right and counts the pads: {row}’s answer will be fed {places} too far from its prompt.',
  say: 'Round {step}, {row}: {left}; {right}.',
  sayOne: 'Round {step}, {row}: {right}.',
  keepsAll: '{lane} keeps all {drafts}',
  keepsSome: '{lane} keeps {kept} of {drafts} and removes the rest',
  keepsNone: '{lane} rejects and removes its {drafts}',
  noDraft: '{lane} has no draft and adds one token',
  leaves: '{lane} keeps {kept} of {drafts} but leaves {dead} in line, so its next token is fed {places} too far',
  leavesUnused: '{lane} keeps {kept} of {drafts} but its {dead} in line, so its next token is fed {places} too far',
  leavesEmpty: '{lane} has no draft but its {dead} in line, so its next token is fed {places} too far',
  past: '{lane} is {tokens} past its first wrong word and continues a different text',
  ended: '{lane} is finished',
  pending: '{lane} is not there yet',
  sayFirstGap: 'Round {step}, the first gap: {left} removes the rejected drafts of {row}; {right} only masks them and feeds the next token {places} too far.',
  sayWrong: 'Round {step}, {row}: {right} writes {actual}; alone, the row writes {expected}. When it was chosen, the row had {tears}, {places} skipped in all: new tokens are fine among themselves, but the model hears every older one as too far away.',
  sayWrongBy: 'Round {step}, {row}: {right} writes {actual}; alone, the row writes {expected}. First broken: {what}, in round {broke}. {why}',
  sayBroken: 'Round {step}, {row}: in {lane} the {what} invariant breaks. {why}',
  cost: {
    n: { one: '{n} entry', other: '{n} entries' }, entries: '{entries} × {each} bytes = {bytes} bytes', bytes: '{bytes} bytes',
    total: 'Copied {total}: {why}.', part: '{n} {why}', and: ', ',
    why: {
      realign: 'to shift rows (the copy reads every row, also one that stays)', compact: 'to cut out a row that left (the copy reads the others)',
      grow: 'to enlarge a full buffer (the copy reads all of it)', join: 'from the store into one rectangle', split: 'back into the store', crop: 'to cut the end off',
    },
    avoided: 'A copy of everything would have read {bytes} bytes more.', avoidedAll: 'Nothing is copied; a copy of everything would have read {bytes} bytes.',
  },
  reason: {
    maskLeft: 'In round {step} the mask moved {n} slots to the left, the entries did not.', maskRight: 'In round {step} the mask moved {n} slots to the right, the entries did not.',
    list: 'So the model {list}.', and: ' and ', other: 'There: {told}.',
    pads: { one: 'reads {n} pad as a word', other: 'reads {n} pads as words' }, stale: { one: 'reads {n} rejected entry', other: 'reads {n} rejected entries' },
    hidden: { one: 'misses {n} entry that is hidden', other: 'misses {n} entries that are hidden' }, gone: { one: 'misses {n} entry that is gone', other: 'misses {n} entries that are gone' },
  },
  sayEnd: 'The end. {left} equals the row run alone in {a} of {rows} rows, {right} in {b}.',
  sayEndTry: 'The end. {left} equals the row run alone in {a} of {rows} rows, {right} in {b}. Is it the dead slots? Repair only the position ids and see.',
  sayHealed: 'Dead slots, masks and padding all stay; only the position ids count tokens instead of slots. The ribbon closes and {equal} of {rows} rows equal the row run alone.',
  sayHidden: 'Round {step}. What happens in it is told after your answer.',
  sayWait: 'Waiting for the first round.',

  stopNote: 'BSP already stops where it should in this run, so position ids are its only defect. Repaired, does it match?',
  badge: '{kind}, {model}, {date}',
  kind: { recorded: 'recorded run', live: 'live run', file: 'your file' },
  download: 'Download trace', whole: 'Open the whole page',
  yours: 'Your prompts',
  copyLink: 'Copy link', copied: 'Link copied', copyBy: 'Copy this link:',
  runs: 'Recorded runs:',
  table: 'Round {step} in numbers',
  tableHead: ['Lane', 'Row', 'Drafted', 'Accepted', 'New tokens', 'Position of the next token', 'Expected', 'Against the row alone'],

  cell: '{lane}, row {row}, token {n} {word}: id {id}, position {position}, expected {expected}, slot {slot}, chosen in round {born} ({kind}).',
  cellNext: '{lane}, row {row}, token {n} {word}: id {id}, not fed yet; next fed at position {position}, expected {expected}, slot {slot}, chosen in round {born} ({kind}).',
  cellNew: '{lane}, row {row}, token {n} {word}: id {id}, chosen in round {born} ({kind}), not fed yet: no position, no slot.',
  cellPrompt: '{lane}, row {row}, prompt token {n} {word}: id {id}, position {position}, slot {slot}.',
  tokenKind: { accepted: 'accepted draft', bonus: 'bonus', correction: 'correction', residual: 'residual', prefill: 'first token', prompt: 'prompt', 'mismatch kept': 'kept although the target disagrees', unknown: 'kind not in this trace' },

  debug: DEBUG, inspect: INSPECT, markdown: MARKDOWN, micro: MICRO, export: EXPORT, note: NOTE, drop: DROP, predict: PREDICT, whatIf: WHAT_IF,
  lanes: { compare: 'Compare', with: 'with', left: 'Upper lane', right: 'Lower lane' },

  starting: 'Run {run}: waiting for the first round…',
  streaming: 'Live.',
  otherRun: 'Of another run ({run}…), not of what is shown: {words}',
  noCell: 'The link leads to token {index} of row {row} in {lane}, and this trace has none there.',
  noRound: 'Run {run} ended before its first round: {why}.',
  lost: 'Connection lost; trying again…',
  gone: 'This run is no longer kept by the server.',
  notSaved: 'it is not in this saved file',
  notFound: 'There is no trace “{name}” ({why}).',
  badTrace: 'This trace cannot be read: {why}',
  failed: 'The run failed: {why}',

  close: 'Close', words: 'Names',
  terms: [
    ['EQSPEC', 'the exact method of “Batch Speculative Decoding Done Right” (arXiv 2510.22876): it realigns the batch after every round'],
    ['BSP', 'a published batch decoder that masks rejected drafts in place and counts their slots, which breaks its positions'],
    ['DSD', 'a published decoder that keeps no KV: every round it feeds all rows whole again'],
  ],
  keys: [
    ['Space', 'play or pause'], ['← →', 'round back, round on'], ['Home End', 'first, last round'],
    ['↑ ↓', 'choose a row'], ['D', 'first difference'], ['D D', 'compare token by token'], ['V', 'first violated invariant'],
    ['I', 'inspect the pinned cell'], ['M', 'look inside the round'], ['O', 'check a trace of yours'], ['R', 'repair the position ids'], ['P', 'large, for a projector: keys only'],
    [', .', 'slower, faster'], ['1 … 6', 'tensor view'], ['L', 'copy link'], ['E', 'export as one file'], ['?', 'this list'],
    ['Tab, then ← →', 'word by word inside a line; Enter pins it'],
  ],
};

let table = EN;

export function setStrings(other) {
  table = { ...EN, ...other };
}

/** The string at `key` ("verdict" or "lane.bsp"), with its {values} filled in. */
export function t(key, values = {}) {
  const found = key.split('.').reduce((node, part) => (Object.hasOwn(node ?? {}, part) ? node[part] : undefined), table);
  if (typeof found !== 'string') return found;
  return found.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? upright(values[name]) : whole));
}

const TURNING = /[\u202a-\u202e\u2066-\u2069]/g;

/** Text from outside in a sentence of ours: controls that would turn the words round it about are shown by their code. */
export const upright = (text) => String(text).replace(TURNING, (c) => `U+${c.codePointAt(0).toString(16).toUpperCase()}`);

/** The form of `key` for the count n: {one, other, ...} as the language's plural rules say. */
export function tn(key, n) {
  const forms = t(key);
  const form = new Intl.PluralRules(table.language).select(n);
  return (forms[form] ?? forms.other).replaceAll('{n}', n);
}

let alias = '';

/** What all lanes are called while a chapter asks which one this is; '' gives them their names back. */
export function setAlias(name) {
  alias = name;
}

/** A lane's name as people read it. */
export const laneName = (lane) => alias || (t(`lane.${lane}`) ?? (methodOf(lane) ? t(`lane.${methodOf(lane)}`) : upright(lane)));

/** What else is to say of a lane beside its method: "dsd_visible_pads" is DSD with visible pads. */
export const laneNote = (lane) => t(`laneNote.${lane}`) ?? (methodOf(lane) ? upright(lane.slice(methodOf(lane).length + 1).replaceAll('_', ' ')) : undefined);

export function laneLong(lane) {
  if (alias) return alias;
  return t(`laneLong.${lane}`) ?? (laneNote(lane) ? t('laneWith', { lane: laneName(lane), note: laneNote(lane) }) : laneName(lane));
}

/** The known method that a lane's name begins with, where more follows. */
const methodOf = (lane) => Object.keys(t('lane')).find((method) => !method.includes('_') && lane.startsWith(`${method}_`));

/** A row's name as people read it: rows count from 1. */
export const rowName = (row) => t('row', { n: row + 1 });
