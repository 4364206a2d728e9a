// The KV half of the fold: `kv` and `kv_op` events change a lane's maps (model -> row -> KvMap) and its open frame.

import { KvMap, copies, own } from './kvmap.js';
import { seqOf } from './trace.js';

const MAX_WIDTH = 1 << 17;

/** Entries written, hidden, or (with `reset`) stated anew after a copy. */
export function applyKv(lane, frame, event) {
  const maps = lane.maps[event.model];
  const { runs = [], hide = [], show = [], reset = false } = event;
  checkCells(event, runs.map(([, slot, , , length]) => [slot, length]));
  checkCells(event, [...hide, ...show].map(([, slot, length]) => [slot, length]));
  if (reset) {
    for (const row of new Set(runs.map((run) => run[0]))) maps[row] = new KvMap([], (maps[row] ?? new KvMap()).token.slice());
  }
  for (const row of frame.rows) {
    if (!reset) maps[row] ??= new KvMap();
    if (row in maps && maps[row].owner.length !== event.width) own(maps, row).resize(event.width);
  }
  for (const [row, slot, owner, position, length] of runs) {
    maps[row] ??= new KvMap();
    const m = own(maps, row);
    m.resize(event.width);
    for (let n = 0; n < length; n += 1) {
      const mine = owner >= 0 ? owner + n : -1;
      const believed = owner >= 0 ? position + n : position;
      m.set(slot + n, mine, tokenOf(lane, frame, event, row, slot + n, mine), believed, owner >= 0 ? 1 : 0);
    }
  }
  for (const [row, slot, length] of hide) own(maps, row).visible.fill(0, slot, slot + length);
  for (const [row, slot, length] of show) own(maps, row).visible.fill(1, slot, slot + length);
  if (reset) {
    for (const row of Object.keys(maps)) {
      const m = own(maps, row);
      m.token = m.token.map((token, s) => (m.position[s] >= 0 ? token : -1));
    }
  }
  snapshot(frame, event, runs, maps);
}

/** Token of a written slot: what the forward was fed there; after a copy, what the copy brought along.
 *  The drafter is fed content and drafts only, so there the owner says which token it is. */
function tokenOf(lane, frame, event, row, slot, owner) {
  const i = frame.rows.indexOf(row);
  if (i < 0) throw new RangeError(`${seqOf(event)}row ${row} is not in step ${frame.step}`);
  if (event.model === 'draft') return [...lane.rows[row].ids, ...(frame.draft[i] ?? [])][owner] ?? -1;
  if (event.reset) return lane.maps.target[row].token[slot];
  const token = frame.tokens[i]?.[slot - frame.slots[i]];
  if (token === undefined) throw new RangeError(`${seqOf(event)}nothing was fed to slot ${slot} of row ${row}`);
  return token;
}

/** Entries copied to new slots; rows that the copy does not list have left the batch. */
export function applyKvOp(lane, frame, event) {
  const maps = lane.maps[event.model];
  checkCells(event, event.moves.map(([, , dst, length]) => [dst, length]));
  const moved = {};
  const origin = {};
  const early = event.model === 'target' && !frame.positions.length; // nothing was fed yet
  const through = early ? frame.origin : {}; // a join may follow a split: its source is where the split put the entry
  for (const [row, src, dst, length] of event.moves) {
    if (!(row in moved)) {
      moved[row] = new KvMap();
      moved[row].resize(event.width);
      origin[row] = Array(event.width).fill(-1);
    }
    const old = maps[row];
    if (src < 0 || src + length > old.owner.length) {
      throw new RangeError(`${seqOf(event)}row ${row} has no slots ${src}..${src + length - 1} to move`);
    }
    moved[row].take(old, src, dst, length);
    for (let n = 0; n < length; n += 1) origin[row][dst + n] = through[row]?.[src + n] ?? src + n;
  }
  for (const row of frame.rows) if (!event.rows.includes(row)) delete maps[row];
  Object.assign(maps, moved);
  if (event.model === 'target') {
    const { op, moves, width } = event;
    Object.assign(frame, { origin, after: copies(maps, frame.rows), width_after: width });
    const room = early && frame.ahead && op === 'grow'; // making room does not hide what was moved
    if (!room) Object.assign(frame, { op, moves, ahead: early && op !== 'grow' });
  }
  frame.copied.push([event.op, event.model, event.bytes]); // each copy of the round
  frame.bytes += event.bytes;
  frame.avoided += event.avoided ?? 0;
}

function snapshot(frame, event, runs, maps) {
  if (event.model === 'draft') {
    frame.drafter = copies(maps, frame.rows);
    return;
  }
  if (runs.length && !event.reset) {
    frame.fed = copies(maps, frame.rows);
    frame.width = event.width;
  }
  frame.after = copies(maps, frame.rows);
  frame.width_after = event.width;
}

/** Throws when a run of slots lies outside the event's width (or the width is absurd). */
function checkCells(event, cells) {
  const { width } = event;
  if (!(width >= 0 && width <= MAX_WIDTH)) throw new RangeError(`${seqOf(event)}width ${width} is outside 0..${MAX_WIDTH}`);
  for (const [slot, length] of cells) {
    if (slot < 0 || length < 1 || slot + length > width) {
      throw new RangeError(`${seqOf(event)}slots ${slot}..${slot + length - 1} lie outside width ${width}`);
    }
  }
}
