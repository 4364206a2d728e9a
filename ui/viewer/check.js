// The invariants, on folded state: the port of engine/check.py, function by function and in the same words.
// tests/browser/test_check_port.py holds the two equal on recorded, foreign and damaged traces.
//
//   kv          the visible slots hold the committed tokens 0..n-2, each once, with the right token id
//   contiguity  believed position - owner index is one constant (0 for learned absolute positions)
//   mask        exactly those slots are visible: no pad, no stale entry, none missing
//   input       what is fed is the last committed token and the row's drafts, in order
//   emission    what is emitted is the target's choice at that index
//   rectangle   left layout only: pads + content = L, so that every row's next slot is the same
//
// Of a step whose KV was not recorded, what its verify event says by itself is checked: input, emission, contiguity.

/** Reports each invariant once per row: the first time it fails. */
export class Checker {
  constructor() {
    this.reported = new Set();
    this.offsets = new Map(); // position - owner of the first column that a row was fed, KV or not
  }

  /** New violations of one frame: [{invariant, row, slot, expected, actual, message}]. */
  frame(lane, frame, header) {
    const found = [];
    frame.rows.forEach((row, i) => {
      const content = lane.rows[row].ids.slice(0, frame.length[row] - (frame.emitted[i]?.length ?? 0));
      const violations = Object.hasOwn(frame.fed, row) ? checkRow(frame, i, content, header.positions) : checkFed(frame, i, content, header.positions, this.offsets);
      for (const violation of violations) {
        const key = `${violation.invariant}/${row}`;
        if (this.reported.has(key)) continue;
        this.reported.add(key);
        found.push(violation);
      }
    });
    return found;
  }
}

/** Violations of batch row i whose committed ids were `content` when the model read them. */
function* checkRow(frame, i, content, scheme) {
  const row = frame.rows[i];
  const prefill = frame.before[row].position.every((position) => position < 0); // nothing of the row is in the cache
  const held = prefill ? 0 : content.length - 1; // committed tokens that must be in the cache already
  yield* kvAndMask(row, frame.before[row], content, held);
  yield* newColumns(row, frame.fed[row], frame.slots[i]);
  yield* contiguity(row, frame, i, held, scheme);
  if (prefill) yield* prefilled(row, frame.fed[row], content);
  else {
    yield* input(row, frame, i, content);
    if (frame.layout === 'left') yield* rectangle(row, frame, i, held);
  }
  yield* emission(row, frame, i);
}

const violation = (invariant, row, slot, expected, actual, message) => ({ invariant, row, slot, expected, actual, message });

function* kvAndMask(row, kv, content, held) {
  const right = new Map();
  kv.owner.forEach((owner, slot) => {
    if (owner >= 0 && owner < held && kv.token[slot] === content[owner]) right.set(owner, [...(right.get(owner) ?? []), slot]);
  });
  const seen = new Set();
  for (const [slot, owner] of kv.owner.entries()) {
    if (!kv.visible[slot]) continue;
    if (right.get(owner)?.includes(slot) && !seen.has(owner)) seen.add(owner);
    else if (owner < 0) yield violation('mask', row, slot, 0, 1, 'a pad is visible');
    else if (right.has(owner) || owner >= held) yield violation('mask', row, slot, 0, 1, 'a stale entry is visible');
    else yield violation('kv', row, slot, content[owner], kv.token[slot], `the entry of token ${owner} holds token id ${kv.token[slot]}`);
  }
  const present = new Set(kv.owner);
  for (let owner = 0; owner < held; owner += 1) {
    if (seen.has(owner)) continue;
    if (right.has(owner)) yield violation('mask', row, right.get(owner)[0], 1, 0, `token ${owner} is in the cache but hidden`);
    else if (!present.has(owner)) yield violation('kv', row, -1, owner, -1, `token ${owner} has no entry in the cache`);
  }
}

function* newColumns(row, kv, start) {
  const slot = kv.owner.findIndex((owner, s) => s >= start && kv.visible[s] && owner < 0);
  if (slot >= 0) yield violation('mask', row, slot, 0, 1, 'a pad is visible');
}

function* contiguity(row, frame, i, held, scheme) {
  const kv = frame.fed[row];
  const start = frame.slots[i];
  const entries = kv.owner.map((owner, slot) => [owner, kv.position[slot], slot])
    .filter(([owner, , slot]) => owner >= 0 && (slot >= start || (kv.visible[slot] && owner < held)))
    .sort((a, b) => a[0] - b[0] || a[1] - b[1] || a[2] - b[2]);
  const offset = scheme === 'rotary' && entries.length ? entries[0][1] - entries[0][0] : 0;
  for (const [owner, position, slot] of entries) {
    const off = position - owner - offset;
    if (off === 0) continue;
    const message = `token ${owner} is fed at position ${position}, ${off > 0 ? '+' : ''}${off} from its neighbours`;
    yield violation('contiguity', row, slot, owner + offset, position, message);
    return;
  }
}

function* input(row, frame, i, content) {
  const expected = [entry(content, -1), ...(frame.draft.length ? entry(frame.draft, i) : [])].slice(0, entry(frame.lens, i) + 1);
  for (const [t, token] of expected.entries()) {
    const slot = frame.slots[i] + t;
    const fed = entry(entry(frame.tokens, i), t);
    if (fed !== token) {
      yield violation('input', row, slot, token, fed, `column ${t} is fed the wrong token`);
      continue;
    }
    const owner = entry(frame.fed[row].owner, slot);
    if (owner !== content.length - 1 + t) yield violation('input', row, slot, content.length - 1 + t, owner, `column ${t} is fed at the wrong index`);
  }
}

/** A row without entries must be fed all of its content. */
function* prefilled(row, kv, content) {
  for (const [owner, token] of content.entries()) {
    const slot = kv.owner.indexOf(owner);
    if (slot < 0) yield violation('kv', row, -1, owner, -1, `token ${owner} is neither fed nor in the cache`);
    else if (kv.token[slot] !== token) yield violation('input', row, slot, token, kv.token[slot], `token ${owner} is fed as another one`);
    else continue;
    return;
  }
}

/** What the verify event of a step without KV shows: the right tokens, at positions that go on without a gap. */
function* checkFed(frame, i, content, scheme, offsets) {
  const [row, drafts, first] = [frame.rows[i], entry(frame.lens, i), entry(frame.owners, i)];
  const fed = [...content, ...(frame.draft.length ? entry(frame.draft, i) : [])].slice(0, content.length + drafts);
  if (first !== 0 && first !== content.length - 1) {
    yield violation('input', row, entry(frame.slots, i), content.length - 1, first, 'column 0 is fed at the wrong index');
    return;
  }
  const columns = fed.length - first;
  const skip = first === 0 && frame.layout === 'left' ? entry(frame.tokens, i).length - columns : 0; // pads in front
  for (let n = 0; n < columns; n += 1) {
    const [owner, column] = [first + n, skip + n];
    const [slot, token, position] = [entry(frame.slots, i) + column, entry(entry(frame.tokens, i), column), entry(entry(frame.positions, i), column)];
    if (token !== fed[owner]) {
      yield violation('input', row, slot, fed[owner], token, `column ${column} is fed the wrong token`);
      break;
    }
    if (scheme === 'rotary' && !offsets.has(row)) offsets.set(row, position - owner);
    const off = position - owner - (scheme === 'rotary' ? offsets.get(row) : 0);
    if (off !== 0) {
      yield violation('contiguity', row, slot, position - off, position, `token ${owner} is fed at position ${position}, ${off > 0 ? '+' : ''}${off} from its neighbours`);
      break;
    }
  }
  yield* emission(row, frame, i);
}

function* emission(row, frame, i) {
  for (const [t, token] of (frame.emitted[i] ?? []).entries()) {
    const choice = entry(frame.choice, i)[t] ?? -1;
    if (token === choice) continue;
    yield violation('emission', row, frame.slots[i] + t, choice, token, `emitted token ${t} of this step is not the target's choice`);
    return;
  }
}

function* rectangle(row, frame, i, held) {
  const pads = frame.before[row].owner.indexOf(0);
  const expected = frame.slots[i] - held;
  if (pads >= 0 && pads !== expected) yield violation('rectangle', row, pads, expected, pads, "pads + content is not the batch's width");
}

/** An entry that must be there: a trace that lacks it is refused. */
function entry(list, n) {
  const found = list.at(n);
  if (found === undefined) throw new TypeError('no such entry');
  return found;
}
