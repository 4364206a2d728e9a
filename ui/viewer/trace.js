// Reading a trace: JSON lines -> event objects, refused with a clear message when they are not what we read.
// The browser's half of engine/trace.py; the events themselves are described there.

export const SCHEMA = 1;

/** One letter per emitted token in `commit.kinds`. */
export const KINDS = { a: 'accepted', b: 'bonus', c: 'correction', r: 'residual', p: 'prefill', m: 'mismatch kept' };

/** The kind of an emitted token by its letter; a file may use letters of its own, or have none. */
export const kindOf = (letter) => (Object.hasOwn(KINDS, letter ?? '') ? KINDS[letter] : 'unknown');

/** What a message about an event begins with: its place in the trace, where it has one. */
export const seqOf = ({ seq = -1 }) => (seq >= 0 ? `seq ${seq}: ` : '');

/** The fields that each event must carry; every other field has a default. */
const REQUIRED = {
  header: ['models', 'dtype', 'device', 'versions', 'machine', 'stop_ids', 'pad_id', 'positions', 'chat', 'prompts', 'lanes'],
  pieces: ['pieces'],
  schedule: ['rows'],
  propose: ['draft', 'tokens', 'why', 'source'],
  verify: ['draft', 'layout', 'tokens', 'lens', 'positions', 'owners', 'slots', 'choice', 'top2'],
  kv: ['model', 'width'],
  kv_op: ['op', 'model', 'width', 'rows', 'moves', 'bytes'],
  commit: ['draft', 'accepted', 'emitted', 'kinds'],
  violation: ['invariant', 'row', 'slot', 'expected', 'actual', 'message'],
  row_done: ['row', 'reason', 'tokens'],
  preempt: ['row', 'reason'],
  compare: ['row', 'verdict', 'checked'],
  spans: ['spans', 'device'],
  end: ['status'],
};

/** A trace that cannot be read: says which line, what was found and what was expected. */
export class TraceError extends Error {}

/** Checks one event; returns it. `where` names the place in messages. */
export function checkEvent(event, where = 'event') {
  if (event === null || typeof event !== 'object' || !('event' in event)) {
    throw new TraceError(`${where}: expected an object with an 'event' field`);
  }
  const required = typeof event.event === 'string' && Object.hasOwn(REQUIRED, event.event) ? REQUIRED[event.event] : null;
  if (!required) {
    throw new TraceError(`${where}: unknown event '${event.event}'; known: ${Object.keys(REQUIRED).join(', ')}`);
  }
  if (event.event === 'header' && event.schema !== SCHEMA) {
    throw new TraceError(`${where}: trace schema ${JSON.stringify(event.schema) ?? 'missing'}; this version reads schema ${SCHEMA}`);
  }
  const missing = required.filter((name) => !(name in event));
  if (missing.length) throw new TraceError(`${where}: ${event.event} lacks ${missing.join(', ')}`);
  return event;
}

/** What is said of a line that is no JSON, in the same words as engine/lines.py: each parser has its own. */
export function notJson(line) {
  const text = [...line.slice(0, 100).replace(/[\r\n]+$/, '')]; // characters, not halves of them
  const shown = JSON.stringify(text.slice(0, 40).join(''));
  return `not JSON: a line is one whole JSON object, and this one ${text.length <= 40 ? 'is' : 'begins with'} ${shown}`;
}

/** All events of a JSON-lines trace. The first must be a header. */
export function parseTrace(text) {
  const events = [];
  let number = 0;
  for (const line of text.split('\n')) {
    number += 1;
    if (!line.trim()) continue;
    let event;
    try {
      event = JSON.parse(line);
    } catch {
      throw new TraceError(`line ${number}: ${notJson(line)}`);
    }
    checkEvent(event, `line ${number}`);
    if (!events.length && event.event !== 'header') {
      throw new TraceError(`line ${number}: a trace begins with a header event, found '${event.event}'`);
    }
    events.push(event);
  }
  if (!events.length) throw new TraceError('line 1: the trace is empty; it begins with a header event');
  return events;
}
