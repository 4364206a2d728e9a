// Fold a trace's events into frames: the full tensors of every step, exactly, in plain arrays.
// The same fold as engine/fold.py, name by name; tests/browser/test_fold_port.py holds the two equal.
// Nothing but folded state may be drawn.
//
//   slot      0   1   2   3   4        two rows, left-padded, c = (5, 3)
//   owner     0   1   2   3   4        row 0: five content tokens
//   owner    -1  -1   0   1   2        row 1: two pads in front; owner -1 belongs to no token
//   position  0   1   2   3   4        the position id that the key was rotated with
//   visible   1   1   1   1   1        1 when the attention mask shows the slot to the next query

import { applyKv, applyKvOp } from './fold_kv.js';
import { KvMap, copies } from './kvmap.js';
import { forget } from './remember.js';
import { seqOf } from './trace.js';

export { KvMap };
export { parseTrace, checkEvent, TraceError, KINDS, SCHEMA } from './trace.js';

/** One step of one lane. `before`, `fed`, `after`: KV maps by row, around the forward and the clean-up. `start`: what the
 *  round found; a lane that copies first (`ahead`) has its rectangle in `before`, and `origin` leads from there to `start`. */
function newFrame(lane, step, rows) {
  return {
    lane, step, rows, layout: '', complete: false,
    draft: [], why: [], source: [], q: [],
    tokens: [], lens: [], slots: [], owners: [], positions: [], choice: [], top2: [],
    accepted: [], emitted: [], kinds: [], cut: [],
    width: 0, width_after: 0,
    start: {}, before: {}, fed: {}, after: {}, origin: {}, drafter: {}, length: {},
    op: '', ahead: false, moves: [], copied: [], bytes: 0, avoided: 0, violations: [], spans: [], timing: {},
  };
}

/** Everything known of one lane: its configuration, rows and frames, and how it ended. */
function newLane(name, config) {
  return {
    name, config, rows: {}, frames: [], status: 'running', totals: {}, error: '',
    maps: { target: {}, draft: {} },
  };
}

/** Accumulates events. `header`, `pieces` (id -> [text, hex]), `lanes` (name -> lane state), `status`. */
export class Fold {
  constructor() {
    Object.assign(this, { header: null, pieces: {}, lanes: Object.create(null), status: 'running', error: '', last_seq: -1 });
  }

  /** Apply one event object; one that was seen already (seq not above the last) is ignored.
   *  Throws for an unknown lane, a step out of order, or cells outside the batch. */
  push(event) {
    const seq = event.seq ?? -1;
    if (seq >= 0 && seq <= this.last_seq) return;
    this.last_seq = seq;
    forget(this);
    const name = event.lane ?? '';
    if (event.event === 'header') {
      this.header = event;
      for (const spec of event.lanes) {
        const lane = newLane(spec.lane, spec.config);
        for (const p of event.prompts) {
          lane.rows[p.row] = { row: p.row, prompt: p.ids.length, ids: p.ids.slice(), kinds: '', done: '', final: -1, compare: null };
        }
        this.lanes[lane.name] = lane;
      }
    } else if (event.event === 'pieces') {
      for (const [id, text, raw] of event.pieces) this.pieces[id] = [text, raw];
    } else if (event.event === 'end' && !name) {
      this.status = event.status;
      this.error = event.error ?? '';
    } else if (!Object.hasOwn(this.lanes, name)) {
      throw new Error(`${seqOf(event)}lane '${name}' is not in the header`);
    } else {
      this._pushLane(this.lanes[name], event);
    }
  }

  _pushLane(lane, event) {
    if (event.event === 'schedule') return this._schedule(lane, event);
    if (event.event === 'compare') {
      lane.rows[event.row].compare = pick(event, ['verdict', 'checked', 'index', 'expected', 'actual', 'logits', 'noise']);
      return;
    }
    if (event.event === 'end') {
      Object.assign(lane, { status: event.status, totals: event.totals ?? {}, error: event.error ?? '' });
      if (lane.frames.length) lane.frames.at(-1).complete = true;
      return;
    }
    if (event.event === 'row_done') {
      Object.assign(lane.rows[event.row], { done: event.reason, final: event.tokens });
      return;
    }
    if (!lane.frames.length) {
      throw new Error(`${seqOf(event)}${event.event} before the first schedule of lane '${lane.name}'`);
    }
    const frame = lane.frames.at(-1);
    const step = event.step ?? 0;
    if (step !== frame.step) {
      throw new Error(`${seqOf(event)}${event.event} of step ${step} while step ${frame.step} is open`);
    }
    if (event.event === 'propose') {
      Object.assign(frame, { draft: event.tokens, why: event.why, source: event.source, q: event.q ?? [] });
    } else if (event.event === 'verify') this._verify(lane, frame, event);
    else if (event.event === 'kv') applyKv(lane, frame, event);
    else if (event.event === 'kv_op') applyKvOp(lane, frame, event);
    else if (event.event === 'commit') this._commit(lane, frame, event);
    else if (event.event === 'violation') {
      frame.violations.push(pick(event, ['invariant', 'row', 'slot', 'expected', 'actual', 'message']));
    } else if (event.event === 'spans') {
      const { spans, device, source = 'measured', sync = 'none' } = event;
      Object.assign(frame, { spans, complete: true, timing: { device, source, sync } });
    }
  }

  _schedule(lane, event) {
    if (lane.frames.length) lane.frames.at(-1).complete = true;
    for (const [model, kept] of [['target', event.rows], ['draft', []]]) { // published code keeps finished rows in the batch
      lane.maps[model] = Object.fromEntries(Object.entries(lane.maps[model]).filter(([r]) => kept.includes(Number(r)) || !lane.rows[r].done));
    }
    const target = lane.maps.target;
    for (const r of event.rows) target[r] ??= new KvMap();
    const frame = newFrame(lane.name, event.step ?? 0, event.rows);
    frame.start = copies(target, event.rows);
    frame.before = copies(target, event.rows);
    frame.after = copies(target, event.rows);
    for (const r of event.rows) frame.length[r] = lane.rows[r].ids.length;
    frame.width = frame.width_after = Math.max(0, ...event.rows.map((r) => target[r].owner.length));
    lane.frames.push(frame);
  }

  _verify(lane, frame, event) {
    // a join between schedule and verify has changed what the model reads
    frame.before = copies(lane.maps.target, frame.rows);
    Object.assign(frame, {
      layout: event.layout, lens: event.lens, slots: event.slots, owners: event.owners,
      positions: event.positions.map(expand), choice: event.choice, top2: event.top2,
    });
    frame.tokens = event.tokens ?? this._wholeRows(lane, frame);
  }

  /** What a forward over whole rows was fed, [B][L + K]: pads, content so far, drafts, filler. */
  _wholeRows(lane, frame) {
    const k = Math.max(0, ...frame.draft.map((d) => d.length));
    return frame.rows.map((row, i) => {
      const [ids, draft] = [lane.rows[row].ids, frame.draft[i] ?? []];
      const pads = Array(Math.max(0, frame.positions[i].length - ids.length - k)).fill(this.header.pad_id);
      const padded = frame.layout === 'left' ? [...pads, ...ids] : [...ids, ...pads];
      return [...padded, ...draft, ...Array(k - draft.length).fill(0)];
    });
  }

  _commit(lane, frame, event) {
    const { accepted, emitted, kinds, cut = emitted.map(() => '') } = event;
    Object.assign(frame, { accepted, emitted, kinds, cut });
    frame.rows.forEach((row, i) => {
      const state = lane.rows[row];
      state.ids.push(...emitted[i]);
      state.kinds += kinds[i];
      frame.length[row] = state.ids.length;
    });
  }
}

/** All events of a trace, folded. */
export function fold(events) {
  const state = new Fold();
  for (const event of events) state.push(event);
  return state;
}

/** Runs [start, length] to the full list; a negative length repeats the start: [[3,2],[7,-2]] -> 3 4 7 7. */
export function expand(runs) {
  const out = [];
  for (const [start, length] of runs) {
    for (let n = 0; n < Math.abs(length); n += 1) out.push(length < 0 ? start : start + n);
  }
  return out;
}

/** The boolean attention mask [T][S] of batch row i in this step's forward.
 *
 *  Old slots are shown as `before` says. Of the new ones a query sees itself and the visible ones to its left
 *  (pads and filler are not, unless a fault shows them).
 *
 *      before visible 1 1 0 | two queries: 1 1 0 1 0
 *                                          1 1 0 1 1
 */
export function maskOf(frame, i) {
  const [row, start, width] = [frame.rows[i], frame.slots[i], frame.width];
  const [old, fresh] = [frame.before[row].visible, frame.fed[row].visible];
  return frame.positions[i].map((_, t) => Array.from({ length: width }, (_unused, s) => {
    if (s < start) return old[s] ?? 0;
    return s === start + t || (s < start + t && fresh[s]) ? 1 : 0;
  }));
}

/** The frame of `lane` at `step`: a finished lane holds its last one. Null while nothing was fed: a live run's
 *  newest step may be open, and until it is fed the one before it stands. */
export function frameAt(lane, step) {
  let found = null;
  for (const frame of lane?.frames ?? []) if (frame.step <= step && frame.positions.length) found = frame;
  return found;
}

function pick(event, names) {
  return Object.fromEntries(names.map((name) => [name, event[name] ?? null]));
}
