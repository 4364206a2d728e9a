// Every word on the stage. Another language is another table of the same shape: setStrings(table).
// `{name}` is a value; text goes to the page as text, never as markup.

const EN = {
  language: 'en',
  stage: 'Batch speculative decoding, round by round',
  lane: { eqspec: 'EQSPEC', bsp: 'BSP', bsp_repaired: 'BSP', autoregressive: 'Alone' },
  laneNote: { bsp_repaired: 'positions repaired' },
  laneLong: { bsp_repaired: 'BSP with its position ids repaired' },

  claim: 'Same model, same prompts.',
  claimLane: '{lane}: {equal} of {rows} rows equal the row run alone.',
  claimLaneShort: '{lane}: {equal} of {rows}.',
  claimTie: '{lane}: {equal} of {rows}, {ties} more up to rounding.',
  claimWait: '{lane}: checking…',
  claimPhone: '{lane}: {equal} of {rows} rows equal the row alone.',
  claimNone: 'A correct and a broken way to decode a batch.',

  theme: 'Dark or light',
  help: 'Keys',
  legend: 'Legend',
  kept: 'kept', fresh: 'new this round', rejected: 'rejected', gap: 'gap', pad: 'pad',
  foldPrompts: 'Fold the prompts', unfoldPrompts: 'Show the prompts',
  prompt: 'prompt · {n}',
  from: '… from {x}',
  ruler: 'position id',
  rulerZero: 'counted from the end of each prompt',
  against: 'against the row run alone',
  tearHint: '{n} positions skipped: {rejected} rejected drafts, {pads} pads or unused draft slots',
  seamHint: '{n} dead slots in memory here; no position counts them',
  gapSize: '+{n}', gapBack: '−{n}',

  row: 'Row {n}', rowInText: 'row {n}',
  promptTokens: '{n} prompt tokens',
  chooseRow: 'Row',
  allRows: 'Show all {n} rows', fewRows: 'Show three rows',
  output: '{lane}, row {row}: output',
  empty: 'nothing yet',
  instead: 'alone: {word}',
  endToken: 'end',
  ribbon: '{lane}, row {row}: {tokens} tokens, {gaps}',
  noGaps: 'no gap', someGaps: 'gaps {sizes}',

  equal: 'equal, {n} of {n}',
  rounding: 'rounding tie at token {n}',
  differs: 'differs from token {n}',
  endsEarly: 'ends differently, at token {n}',
  checking: 'checking…',
  noLane: 'no such lane in this trace',
  doneRow: 'done',
  firstBroken: 'first broken: {what}, round {step}',
  cause: 'cause: {what}, round {step}',
  causeWhy: 'the same run with repaired position ids equals the row run alone',
  invariant: {
    kv: 'KV entry', contiguity: 'position jump', mask: 'mask', input: 'input', emission: 'output', rectangle: 'rectangle',
  },

  play: 'Play', pause: 'Pause', replay: 'Play again', back: 'Previous round', forward: 'Next round', toLive: 'Live',
  round: 'round {step} of {last}', prefill: 'prompts read', scrub: 'Round',
  markGap: 'first tear', markWrong: 'first wrong word',
  speed: 'speed ×{n}',

  repair: "Repair only BSP's position ids",
  undo: 'Undo repair',
  noRepair: 'This trace has no repaired lane.',
  repairWait: 'The repaired run is still being computed.',

  drafts: { one: '{n} draft', other: '{n} drafts' },
  places: { one: '{n} position', other: '{n} positions' },
  deadSlots: { one: '{n} dead slot', other: '{n} dead slots' },
  unusedSlots: { one: '{n} unused draft slot stays', other: '{n} unused draft slots stay' },
  tears: { one: '{n} tear', other: '{n} tears' },
  tokens: { one: '{n} token', other: '{n} tokens' },

  sayPrefill: 'The prompts are padded to one length and read; every row gets its first answer token.',
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
  sayFirstGap: 'Round {step}, the first tear: {left} removes the rejected drafts of {row}; {right} only masks them and feeds the next token {places} too far.',
  sayWrong: 'Round {step}, {row}: {right} writes {actual}; alone, the row writes {expected}. Its ribbon has {tears} by now, {places} in all: new tokens are fine among themselves, but the model hears every older one as too far away.',
  sayEnd: 'The end. {left} equals the row run alone in {a} of {rows} rows, {right} in {b}. Is it the holes? Repair only the position ids and see.',
  sayHealed: 'Same holes, same masks, same padding; only the position ids count tokens instead of slots. The ribbon closes and {equal} of {rows} rows equal the row run alone.',
  sayWait: 'Waiting for the first round.',

  stopNote: 'BSP’s missing stop rule is repaired here: positions are its only defect.',
  badge: '{kind}, {model}, {date}',
  kind: { recorded: 'recorded run', live: 'live run', file: 'run' },
  download: 'Download trace',
  yours: 'Your prompts',
  copyLink: 'Copy link', copied: 'Link copied', copyBy: 'Copy this link:',
  runs: 'Recorded runs:',
  table: 'Round {step} in numbers',
  tableHead: ['Lane', 'Row', 'Drafted', 'Accepted', 'New tokens', 'Position of the next token', 'Expected', 'Against the row alone'],

  cell: '{lane}, row {row}, token {n} {word}: id {id}, position {position}, expected {expected}, slot {slot}, written in round {born} ({kind}).',
  cellNew: '{lane}, row {row}, token {n} {word}: id {id}, chosen in round {born} ({kind}), not fed yet: no position, no slot.',
  cellPrompt: '{lane}, row {row}, prompt token {n} {word}: id {id}, position {position}, slot {slot}.',
  tokenKind: { accepted: 'accepted draft', bonus: 'bonus', correction: 'correction', residual: 'residual', prefill: 'first token', prompt: 'prompt', 'mismatch kept': 'kept although the target disagrees' },

  starting: 'Run {run}: waiting for the first round…',
  streaming: 'Live.',
  lost: 'Connection lost; trying again…',
  gone: 'This run is no longer kept by the server.',
  notFound: 'There is no trace “{name}” ({why}).',
  badTrace: 'This trace cannot be read: {why}',
  failed: 'The run failed: {why}',

  close: 'Close',
  keys: [
    ['Space', 'play or pause'], ['← →', 'round back, round on'], ['Home End', 'first, last round'],
    ['↑ ↓', 'choose a row'], ['D', 'first difference'], ['V', 'first violated invariant'],
    [', .', 'slower, faster'], ['1 2 3 4', 'tensor view'], ['L', 'copy link'], ['?', 'this list'],
    ['Tab, then ← →', 'word by word inside a line; Enter pins it'],
  ],
};

let table = EN;

export function setStrings(other) {
  table = { ...EN, ...other };
}

/** The string at `key` ("verdict" or "lane.bsp"), with its {values} filled in. */
export function t(key, values = {}) {
  const found = key.split('.').reduce((node, part) => node?.[part], table);
  if (typeof found !== 'string') return found;
  return found.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? String(values[name]) : whole));
}

/** The form of `key` for the count n: {one, other, ...} as the language's plural rules say. */
export function tn(key, n) {
  const forms = t(key);
  const form = new Intl.PluralRules(table.language).select(n);
  return (forms[form] ?? forms.other).replaceAll('{n}', n);
}

/** A lane's name as people read it. */
export const laneName = (lane) => t(`lane.${lane}`) ?? lane.toUpperCase();
export const laneLong = (lane) => t(`laneLong.${lane}`) ?? laneName(lane);

/** A row's name as people read it: rows count from 1. */
export const rowName = (row) => t('row', { n: row + 1 });
