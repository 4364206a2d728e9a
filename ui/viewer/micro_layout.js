// One row of one round in four pictures: before, unpad, append, repad. A pure function of the folded trace; x is the slot.
//
//   before   . . . C C C C          p + c = L
//   unpad    C C C C                c
//   append   C C C C N N x x        c grows by what was accepted; the rejected go
//   repad    . C C C C N N          p + c = L again, the row moved by delta = new p - old p
//
// A lane that keeps its slots has three: before, written, after. One that copies before its forward also: found (what the
// round before left, its rejected still there), repad, written.

/** {stages: [{key, runs: [{x, n, kind}], p, c, width, grown, holes, padsSeen, lost}], delta, left} of batch row i; null where nothing was fed.
 *  `ended`: no later round has the row, so what it left behind is nobody's. */
export function stagesOf(frame, i, ended = false) {
  const row = frame.rows[i];
  const [before, fed, after] = [frame.before[row], frame.fed[row], frame.after[row]];
  if (!before || !fed) return null;
  const origin = frame.ahead ? null : frame.origin[row]; // a copy ahead of the forward says nothing of what came after it
  const stays = after?.owner.length && !ended ? after : null;
  const kept = new Set(stays ? stays.owner.flatMap((owner, slot) => (owner >= 0 && stays.visible[slot] ? [origin ? origin[slot] : slot] : [])) : []);
  const kinds = fed.owner.map((owner, slot) => kindOf(frame, i, fed, slot, kept));
  if (frame.ahead && frame.layout === 'left') return copiedFirst(frame, row, kinds, !stays);
  const own = { ...frame, i, kinds };
  const realigns = frame.layout === 'left' && before.owner.length;
  const stages = realigns
    ? [still('before', before), unpad(before), append(before, kinds, frame.slots[i]), stays && still('repad', stays, (slot) => kindNow(own, origin, slot))]
    : [before.owner.length && still('before', before), picture('written', kinds), stays && still('after', stays, (slot) => kindNow(own, origin, slot))];
  const [first, last] = [stages.find(Boolean), stays && stages.at(-1)];
  if (realigns && stays) last.lost = Math.max(0, stages[2].c - last.c);
  return { row, stages: stages.filter(Boolean), delta: realigns && last ? last.p - first.p : null, left: !stays };
}

/** What the round found, the rectangle made of it, and what the forward wrote there. */
function copiedFirst({ start, before, origin }, row, kinds, left) {
  const taken = new Set(origin[row]);
  const old = start[row]?.owner ?? [];
  const found = old.length ? still('found', start[row], (slot) => (old[slot] < 0 ? 'pad' : taken.has(slot) ? 'kept' : 'rejected')) : null;
  const repad = still('repad', before[row]);
  const fresh = kinds.filter((kind) => kind === 'fresh').length;
  const written = { ...picture('written', kinds), grown: fresh, old: repad.c };
  return { row, stages: [found, repad, written].filter(Boolean), delta: found ? repad.p - found.p : null, left };
}

/** What the forward left in a slot of the row. */
function kindOf(frame, i, fed, slot, kept) {
  const column = slot - frame.slots[i];
  const owner = fed.owner[slot];
  if (column < 0 || !frame.before[frame.rows[i]].owner.length) return owner < 0 ? 'pad' : fed.visible[slot] || kept.has(slot) ? 'kept' : 'hole';
  if (owner < 0) return 'filler';
  return column <= (frame.accepted[i] ?? 0) ? 'fresh' : 'rejected';
}

/** The kind of an entry after the clean-up: what it was when it was fed, unless it is hidden now. */
function kindNow({ after, rows, i, kinds }, origin, slot) {
  const map = after[rows[i]];
  if (map.owner[slot] < 0) return 'pad';
  if (!map.visible[slot]) return 'hole';
  return kinds[origin ? origin[slot] : slot] ?? 'kept';
}

function still(key, map, kind = (slot) => (map.owner[slot] < 0 ? 'pad' : map.visible[slot] ? 'kept' : 'hole')) {
  const padsSeen = map.owner.filter((owner, slot) => owner < 0 && map.visible[slot]).length;
  return { ...picture(key, map.owner.map((owner, slot) => kind(slot)), Math.max(0, map.owner.indexOf(0))), padsSeen };
}

/** The content of a row without its pads, moved to the left. */
function unpad(map) {
  return picture('unpad', map.owner.flatMap((owner, slot) => (owner >= 0 && map.visible[slot] ? ['kept'] : [])));
}

function append(before, kinds, start) {
  const old = before.owner.flatMap((owner, slot) => (owner >= 0 && before.visible[slot] ? ['kept'] : []));
  const written = kinds.slice(start).filter((kind) => kind !== 'filler');
  return { ...picture('append', [...old, ...written]), grown: written.filter((kind) => kind === 'fresh').length, old: old.length };
}

/** Kinds by slot as runs, with the counts that the equation needs. */
function picture(key, kinds, p = 0) {
  const runs = [];
  kinds.forEach((kind, x) => {
    if (runs.at(-1)?.kind === kind) runs.at(-1).n += 1;
    else runs.push({ x, n: 1, kind });
  });
  const count = (...names) => kinds.filter((kind) => names.includes(kind)).length;
  return { key, runs, p, c: count('kept', 'fresh'), width: kinds.length, holes: count('hole', 'rejected'), pads: count('pad', 'filler') };
}
