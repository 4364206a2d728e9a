// Check a trace against the invariants, whoever wrote it: fold it and ask check.js of every step. The port of
// engine/inspection.py. The trace's own violation events are not believed; what is found here takes their place.

import { misfit } from './bounds.js';
import { Checker } from './check.js';
import { Fold, TraceError, checkEvent } from './fold.js';
import { notJson } from './trace.js';
import { problem } from './shape.js';

const MAX_DRAWN = 1 << 24; // cells of all steps that are kept to be looked at
const BREATH_MS = 40;

/** Reads and checks a trace's text. Resolves with {fold, lanes, drawn, cut}: `lanes` = [{lane, first, counts, steps, unchecked, partial,
 *  violations, differ, ended}], `unchecked` without their forward, `partial` without what it wrote, `first` = {step, invariant, row, slot, expected, actual, message, later} or null; `drawn`: false when
 *  the trace is checked but too large to be shown; `cut`: the last line is only half there and was left out. Rejects with a TraceError that names the line.
 *  `progress(share)` is called between breaths, so that a long file does not freeze the page. */
export async function inspect(text, progress = () => {}) {
  const inspector = new Inspector();
  let [at, number, since, cut] = [0, 0, performance.now(), false];
  while (at < text.length) {
    const end = text.indexOf('\n', at) < 0 ? text.length : text.indexOf('\n', at);
    const line = text.slice(at, end);
    [at, number] = [end + 1, number + 1];
    cut = number > 1 && at > text.length && !isJson(line); // a recorder that was killed
    if (line.trim() && !cut) onLine(number, () => inspector.push(parse(line)));
    if (performance.now() - since < BREATH_MS) continue;
    progress(at / text.length);
    await new Promise((done) => { setTimeout(done); });
    since = performance.now();
  }
  if (!inspector.fold.header) throw new TraceError('line 1: the trace is empty; it begins with a header event');
  return { ...onLine(number, () => inspector.close()), cut };
}

function onLine(number, read) {
  try {
    return read();
  } catch (error) {
    throw new TraceError(`line ${number}: ${error.message.replace(/^event: /, '')}`);
  }
}

/** Whether a line is whole. NaN and Infinity are no JSON, but no cut either. */
function isJson(line) {
  try {
    JSON.parse(line.replace(/NaN|Infinity/g, '0'));
    return true;
  } catch {
    return false;
  }
}

function parse(line) {
  try {
    return JSON.parse(line);
  } catch {
    throw new TraceError(notJson(line));
  }
}

/** Takes events one by one. A step is checked when it is over: with the lane's next one, or at the end. */
class Inspector {
  constructor() {
    Object.assign(this, { fold: new Fold(), lanes: new Map(), last: -1, cells: 0, drawn: true });
  }

  /** Throws a TraceError when the event is not one, or cannot follow what came before it. */
  push(data) {
    const event = checkEvent(data);
    const found = problem(event);
    if (found) throw new TraceError(`${event.event}: ${found}`);
    const { seq = -1 } = event;
    if (!this.fold.header && event.event !== 'header') throw new TraceError(`a trace begins with a header event, found '${event.event}'`);
    if (seq >= 0 && seq <= this.last) throw new TraceError(`seq ${seq} comes after seq ${this.last}; a trace is written in order`);
    this.last = Math.max(this.last, seq);
    try {
      const why = misfit(this.fold, event);
      if (why) throw new Error(why);
      if (event.event === 'schedule') this._close(event.lane);
      this.fold.push(tidy(event));
      if (event.event === 'header') for (const name of Object.keys(this.fold.lanes)) this.lanes.set(name, newResult(name));
      else if (event.event === 'violation') this.lanes.get(event.lane).claimed.push(`${event.step ?? 0} ${event.invariant} ${event.row}`);
      else if (event.event === 'end' && event.lane) this.lanes.get(event.lane).ended = true;
    } catch (error) {
      throw new TraceError(`${event.event} of step ${event.step ?? 0} does not fit what came before it (${inWords(error)})`);
    }
  }

  /** Checks the steps that are still open. */
  close() {
    for (const name of this.lanes.keys()) {
      try {
        this._close(name);
      } catch (error) {
        throw new TraceError(`the last step of lane '${name}' cannot be checked (${inWords(error)})`);
      }
    }
    if (this.fold.status === 'running') this.fold.status = 'open'; // nothing more will come
    const lanes = [...this.lanes.values()].map(({ checker, claimed, ...lane }) => ({ ...lane, differ: differences(lane.violations, claimed) }));
    return { fold: this.fold, lanes, drawn: this.drawn };
  }

  _close(name) {
    const lane = this.fold.lanes[name];
    const frame = lane?.frames.at(-1);
    if (!frame) return;
    const result = this.lanes.get(name);
    result.steps += 1;
    if (result.first && frame.rows.includes(result.first.row)) result.first.later.push(frame.step);
    frame.violations = this._check(lane, frame, result);
    for (const found of frame.violations) {
      result.counts[found.invariant] = (result.counts[found.invariant] ?? 0) + 1;
      result.violations.push({ step: frame.step, ...found });
      result.first ??= { step: frame.step, ...found, later: [] };
    }
    this.cells += 3 * frame.rows.length * Math.max(frame.width, frame.width_after);
    if (this.cells > MAX_DRAWN) this.drawn = false;
    if (!this.drawn) lane.frames.length = 0; // checked: a long trace needs no more memory than a short one
  }

  /** Violations of a step, as far as it was recorded: without a commit nothing was emitted. */
  _check(lane, frame, result) {
    if (!frame.rows.every((row) => Object.hasOwn(frame.fed, row))) (frame.positions.length ? result.partial : result.unchecked).push(frame.step);
    if (!frame.positions.length) return [];
    if (!frame.emitted.length) frame.emitted = frame.rows.map(() => []);
    return result.checker.frame(lane, frame, this.fold.header);
  }
}

/** An error as part of a sentence. JavaScript's own words say nothing of the trace. */
function inWords(error) {
  const text = error instanceof TypeError || /^Invalid /.test(error.message) ? 'a part of it is missing or too short for its step' : error.message;
  return text.length <= 160 ? text : `${text.slice(0, 157)}...`;
}

/** Free-form parts of a file from outside, as the views expect them. */
function tidy(event) {
  const text = (value) => (typeof value === 'string' ? value : '');
  if (event.event === 'pieces') {
    return { ...event, pieces: event.pieces.map(([id, piece, hex]) => [Number(id), text(piece), /^([\da-f]{2})+$/i.test(hex) ? text(hex) : '']) };
  }
  if (event.event === 'compare') return { ...event, logits: null, noise: event.noise ?? null, ...(pairs(event.logits) && { logits: event.logits }) };
  if (event.event !== 'header') return event;
  const name = text(event.models?.target?.name);
  return {
    ...event, models: { ...event.models, target: { ...event.models?.target, name } },
    prompts: event.prompts.map((p) => ({ ...p, text: text(p.text) })),
    lanes: event.lanes.map(({ lane, config }) => ({ lane, config: { ...config, faults: Array.isArray(config.faults) ? config.faults.map(String) : [] } })),
  };
}

/** compare.logits as it should be: two numbers for each side. */
function pairs(logits) {
  return [logits?.reference, logits?.lane].every((side) => Array.isArray(side) && side.length === 2 && side.every(Number.isFinite));
}

const newResult = (lane) => ({ lane, first: null, counts: {}, steps: 0, unchecked: [], partial: [], violations: [], claimed: [], ended: false, checker: new Checker() });

/** Where the trace's own violation events and this check differ: as many lines as there are differences. */
function differences(violations, claimed) {
  const found = violations.map(({ step, invariant, row }) => `${step} ${invariant} ${row}`);
  return { claims: claimed.length, missing: found.filter((v) => !claimed.includes(v)), forged: [...new Set(claimed)].filter((v) => !found.includes(v)) };
}
