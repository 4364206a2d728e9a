// Every word of the tensor views, in one table (lane and row names come from strings.js). `{name}` is a value.
// Another language is another table of the same shape: setWords(table). All of it is plain text, never markup.

const EN = {
  title: 'In memory',
  all: 'All six',
  choose: 'Tensor view',
  open: 'Show the tensors of this round',
  close: 'Hide the tensors',
  loading: 'The plots load in a moment.',
  failed: 'The plots cannot be drawn: {why}.',
  retry: 'Try again',
  absent: 'Nothing to draw: the trace has no “{field}” in step {step}.',
  noFrame: 'No step of this lane has arrived yet.',
  keys: 'Arrow keys move a cell cursor, Enter selects its token everywhere, Escape leaves.',
  group: '{lane}: {view}, cell by cell',

  view: { kinds: 'Token kinds', positions: 'Position ids', mask: 'Attention mask', move: 'KV move', gaps: 'Gaps', owners: 'KV owner' },
  why: {
    kinds: 'Every KV slot of this forward: whose entry it is and what became of it. The outlined cell after the last column is the token just chosen: it has no KV yet.',
    positions: 'The position id that each key was rotated with. Colour: how far it is from the row’s own count, which begins at its first id; a blank row has no gap. “All +n”: every id is n above its place in the row. A bar marks a gap.',
    mask: 'One line per query of this forward, row by row: filled where it may attend.',
    gaps: 'How far each visible entry is from the one before it, in positions, minus one: what the model hears as missing. Zero is blank.',
    owners: 'Whose key and value a slot holds: the number is the token’s place in its row.',
    move: 'What the clean-up does to every entry: as fed above, afterwards below. Numbers: the slot it came from.',
  },

  prefill: 'prefill', round: 'round {n}', whole: 'round {n}, whole rows fed', dims: 'B {b} · T {t} · S {s}',
  done: 'done: holds its last state', waits: 'its newest state',

  kind: {
    pad: 'pad', prompt: 'prompt', kept: 'kept', refed: 're-fed last token', accepted: 'accepted now', rejected: 'rejected now',
    filler: 'unused: this row had fewer drafts', hole: 'dead slot: written, hidden', pending: 'drafted, not judged', cut: 'agreed, then cut', chosen: 'chosen now, no KV yet',
  },
  chosen: { b: 'bonus', c: 'correction', r: 'residual', p: 'first token (prefill)' },
  fate: { pad: 'pad', stays: 'stays', right: 'moves right', left: 'moves left', dropped: 'dropped', dead: 'dead: stays, hidden' },
  sees: { seen: '1: may attend', seenPad: '1: a pad that is read as a word', unseen: '0: may not', pad: '0: pad', hole: '0: dead slot' },
  owns: { kept: 'entry of its token', rejected: 'another token’s id, or a second entry', hole: 'dead slot: hidden', pad: 'no token', dropped: 'pad that the mask shows' },
  off: 'off by', allBy: 'all {by}', by: 'gap', uncounted: 'belongs to no token', gapBar: 'gap',
  gutter: { kinds: 'accepted', positions: 'off by', mask: 'sees', move: 'shift', gaps: 'in all', owners: 'its own' },
  ended: 'ended', outside: 'waits', lineFed: '{n} fed', lineAfter: '{n} after', lineFound: '{n} found', lineRead: '{n} read', lineQuery: '{n} q{q}',

  kindsFact: '{slots} slots: {pads} pads, {holes} dead slots, {accepted} accepted, {rejected} rejected, {filler} unused.',
  noGap: 'Every row counts without a gap.',
  firstGap: 'First gap: {row}, slot {slot}: position {from} is followed by {to}.',
  moreGaps: 'First gap: {row}, slot {slot}: position {from} is followed by {to}; {n} gaps in all.',
  ownersRight: 'Every visible entry is the only one of its token and holds its id; {hidden} are hidden.',
  ownersWrong: '{wrong} visible entries hold another token’s id or are second ones; {hidden} are hidden.',
  padsSeen: { one: '{n} pad is seen as a word (crossed).', other: '{n} pads are seen as words (crossed).' },
  lost: { one: '{n} token has no visible entry.', other: '{n} tokens have no visible entry.' },
  maskFact: '{n} queries. Hidden from every one: {pads} pads, {holes} dead slots.',
  maskPrefill: 'Prefill: only the last query of each row is shown. Hidden from it: {pads} pads.',
  maskWhole: 'Whole rows are fed: only the last queries of each are shown. Hidden from every one: {pads} pads.',
  shifted: { one: 'One row shifts.', other: '{n} rows shift.' },
  unshifted: 'No row shifts.',
  dead: { one: 'Nothing moves: {n} dead slot stays.', other: 'Nothing moves: {n} dead slots stay.' },
  deadKept: { one: 'No row shifts: {n} dead slot is copied along.', other: 'No row shifts: {n} dead slots are copied along.' },
  gone: '{row} ended and leaves the batch.',
  ahead: 'Copied before this round’s forward: as the round found it above, as it is read below.',

  term: { cell: 'cell', token: 'token', owner: 'owner', position: 'position', mask: 'mask', visible: 'visible', kind: 'kind', move: 'move', state: 'state', gap: 'gap' },
  cell: '{lane}, {row}, slot {slot}', cellQuery: '{lane}, {row}, slot {slot}, query {query}',
  absentRow: 'this row is not in the batch', noSlot: 'no slot here',
  noOwner: 'none', ownerPrompt: '{n} (prompt)', ownerNew: '{n} (generated {g})',
  position: '{fed} fed, {expected} expected', positionOff: '{fed} fed, {expected} expected: {off}',
  positionFree: '{fed} (belongs to no token)', attends: '1: this query may attend', attendsNot: '0: this query may not attend',
  yes: 'yes', no: 'no', fromTo: '{fate}: slot {from} to {to} ({shift})', chosenNow: '{kind}, chosen now: no KV yet',
  token: '{text} (id {id})', bytesToken: 'bytes {hex}',
  label: '{view} of {lane}, {when}, {dims}. {fact} {gutter}: {rows}.',
};

let table = EN;

export function setWords(other) {
  table = { ...EN, ...other };
}

/** The words at `key` ("view.kinds"), with their {values} filled in. */
export function say(key, values = {}) {
  const found = key.split('.').reduce((node, part) => node?.[part], table);
  return String(found ?? '').replace(/\{(\w+)\}/g, (whole, name) => (name in values ? String(values[name]) : whole));
}

/** The same, in the plural form for n. */
export function sayCount(key, n) {
  return say(`${key}.${n === 1 ? 'one' : 'other'}`, { n });
}

export function signed(n) {
  return n > 0 ? `+${n}` : n < 0 ? `−${-n}` : '0';
}
