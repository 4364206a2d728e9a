// Every word on the stage. Another language is another table of the same shape: setStrings(table).
// `{name}` is a value; text goes to the page as text, never as markup.

import { DROP } from './strings_drop.js';
import { EXPORT, NOTE } from './strings_export.js';
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

  debug: {
    open: 'Compare token by token', openRow: '{row}: compare token by token', title: '{lane} beside the row run alone, token by token',
    stopEmpty: 'Stop when a row accepts nothing', stopped: 'Stopped in round {step}: {lane}, row {row} accepts none of its {n} drafts.',
    token: 'token', alone: 'alone', none: 'nothing', at: '{from}, step {step}',
    lines: 'Above: the row run alone. Below: {lane}.', knownFrom: 'The upper line is {lane}’s, which equals the row run alone.',
    knownPart: 'Of the row run alone this trace knows the tokens up to the first difference.',
    strip: '{lane}, row {row}, beside the row run alone', pair: 'token {n}: alone {alone}, {lane} {actual}: {state}',
    state: {
      whole: 'equal', torn: 'torn but still right', wrong: 'first wrong', tie: 'rounding tie', later: 'after the difference: not compared', unknown: 'not compared yet',
    },
    nothingBroken: 'no invariant broke', brokenEqual: 'The text survived it.',
    violated: {
      contiguity: 'slot {slot} is fed at position {actual}; {expected} was due', kv: 'slot {slot}: expected {expected}, found {actual}',
      mask: 'the mask at slot {slot} is {actual}; {expected} was due', input: 'slot {slot}: fed {actual}; {expected} was due',
      emission: 'emitted id {actual}; the target chose {expected}', rectangle: '{actual} pads; {expected} were due',
    },
    torn: { one: '{n} token torn but still right', other: '{n} tokens torn but still right' },
    tornWhy: 'chosen after that, and the same as alone',
    toWrong: 'first wrong: token {n}, round {step}', toTie: 'rounding tie: token {n}, round {step}',
    gaps: '{sum} too far there, in {n}', noGaps: 'no gap was heard there',
    scales: 'The target’s best two there', scalesHead: ['', 'first: token, id, logit', 'second', 'lead', 'from'],
    noLogits: 'No logits: compare.logits and verify.top2 carry them where both sides have a token.',
    itsToken: '({lane}’s token)', now: 'written in this round',
    leads: 'Alone, {expected} leads {actual} by {alone} logits; in {lane} {actual} leads by {own}. Between the two runs these logits differ by up to {apart}.',
    leadsLeast: 'Alone, {expected} leads {actual} by {alone} logits; in {lane} {actual} leads by at least {own}, and {expected} is not among the best two. Between the two runs these logits differ by at least {apart}.',
    noTie: 'Rounding was measured to move a logit by {noise} in this run (compare.noise), {times} times less: not rounding.',
    tie: 'Rounding was measured to move a logit by {noise} in this run (compare.noise): a tie that rounding decides, not a bug.',
    noNoise: 'How far rounding moves a logit was not measured in this run (compare.noise).',
  },

  inspect: {
    title: 'token {n}, {lane}, row {row}', titlePrompt: 'prompt token {n}, {lane}, row {row}',
    afterAnswer: 'What is known of this token is told after your answer.',
    round: 'as it is after round {step}', later: 'not chosen before round {born}',
    previous: 'Token before', next: 'Token after', other: 'The same in {lane}', toBorn: 'To round {step}, which chose it',
    group: { token: 'Token', origin: 'Where it comes from', memory: 'In memory after round {step}', verdict: 'What the target said' },
    term: {
      id: 'id', bytes: 'raw bytes', index: 'place in the text', kind: 'kind', drafted: 'drafted', q: 'q, the drafter’s probability',
      accepted: 'accepted', choice: 'target’s choice', first: 'best logit', second: 'second logit', lead: 'lead', p: 'p, the target’s probability',
      wasted: 'wasted in that round', row: 'row', slot: 'slot', from: 'came from', written: 'written', owner: 'KV owner', visible: 'visible',
      position: 'position fed', expected: 'position expected', offset: 'offset', neighbour: 'from its neighbour', violation: 'broke here', copies: 'same place, hidden',
    },
    absent: 'not in this trace', carriedBy: '{why}; {from} would carry it',
    indexPrompt: '{index} of the row, in the prompt', indexNew: '{index} of the row, generated token {n}',
    born: '{kind}, round {step}', noPropose: 'not drafted: the prompts’ own forward chose it', noProposer: 'not drafted: this method drafts nothing', notYet: 'not written yet',
    bonus: 'not drafted: the token after the last draft ({why})', noDraft: 'no draft in this round ({why})',
    why: {
      full: 'K drafts', room: 'no room for more', empty: 'the drafter found nothing', eos: 'the draft ended',
      acceptance: 'few of this row’s drafts were right lately', cost: 'more would not pay', confidence: 'the drafter was unsure',
      budget: 'the budget was used', done: 'the row has ended',
    },
    draftedBy: 'by {source}, draft {j} of {n}', draftedOther: '{source} drafted {other} here, draft {j} of {n}',
    source: { ngram: 'n-gram lookup', model: 'the draft model', eagle3: 'the EAGLE-3 head', mtp: 'the MTP module', draft_small: 'the small draft model' },
    noQ: 'this drafter gave no probability', noP: 'not asked for in this run', given: 'given, not judged',
    yes: 'yes, draft {j}: the row kept {k} of {n}', no: 'no: the row kept {k} of {n}; this is the target’s own token', all: 'the row kept {k} of {n}; this one comes on top',
    nothing: 'nothing to accept: no draft', notEmitted: 'another one was emitted',
    rejected: { one: '{n} rejected draft', other: '{n} rejected drafts' }, filler: { one: '{n} unused draft slot', other: '{n} unused draft slots' },
    cut: 'agreed drafts cut off ({why})', cutWhy: { stop: 'the text ended', budget: 'enough tokens', context: 'no more positions', rollback: 'rolled back' },
    noWaste: 'nothing', rowOf: 'row {row}, line {i} of {n} in the batch',
    hidden: 'in memory, but no query sees it', nextSlot: 'no KV yet: it is fed to slot {slot} next', noSlot: 'no KV yet: the next forward feeds it', noKv: 'no KV yet',
    number: '{n}', will: '{n}, by this lane’s rule', writtenAt: 'in round {step}, to slot {slot}',
    ownerOk: 'this token ({index})', ownerOther: 'this token ({index}), but the entry holds id {id}', seen: 'yes, to the next query', unseen: 'no, masked',
    one: 'one position on', gap: '{by} from token {left}: a gap of {size}', stayed: 'the same slot: nothing was copied', same: 'the same slot', movedFrom: 'slot {from} ({by})',
    hiddenCopies: { one: '{n} entry', other: '{n} entries' }, copy: 'slot {slot} {word} at position {position}',
  },

  markdown: MARKDOWN, micro: MICRO, export: EXPORT, note: NOTE, drop: DROP, predict: PREDICT, whatIf: WHAT_IF,
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
