// Do the values of an event have the types that its fields say? Asked of files from outside, never of our own stream.
// The port of engine/shape.py; tests/browser/test_check_port.py holds the two equal on hostile traces.

const MAX_INT = 2 ** 53;
const MAX_LIST = 1 << 17;

const COMMON = { seq: 'int', lane: 'str', step: 'int' };

/** Field types as in engine/trace.py. "[[int]]5": the innermost lists have five entries; "runs": [start, length] that
 *  must stay expandable; a question mark: or null. */
const TYPES = {
  header: {
    schema: 'int', title: 'str', created: 'str', models: 'dict', dtype: 'str', device: 'str', versions: 'dict', machine: 'dict',
    stop_ids: '[int]', pad_id: 'int', positions: 'str', chat: 'bool', prompts: '[dict]', lanes: '[dict]',
  },
  pieces: { pieces: '[list]3' },
  schedule: { rows: '[int]', group: 'int', batch: 'int', joined: '[int]', left: '[int]' },
  propose: { draft: 'int', tokens: '[[int]]', why: '[str]', source: '[str]', q: '?[[num]]', noise: '?[[num]]' },
  verify: {
    draft: 'int', layout: 'str', tokens: '?[[int]]', lens: '[int]', positions: '[runs]', owners: '[int]', slots: '[int]',
    choice: '[[int]]', top2: '[[[num]]]', p: '?[[num]]',
  },
  kv: { model: 'str', width: 'int', reset: 'bool', runs: '[[int]]5', hide: '[[int]]3', show: '[[int]]3' },
  kv_op: { op: 'str', model: 'str', width: 'int', rows: '[int]', moves: '[[int]]4', bytes: 'int', avoided: 'int' },
  commit: { draft: 'int', accepted: '[int]', emitted: '[[int]]', kinds: '[str]', cut: '[str]' },
  violation: { invariant: 'str', row: 'int', slot: 'int', expected: 'int', actual: 'int', message: 'str' },
  row_done: { row: 'int', reason: 'str', tokens: 'int' },
  preempt: { row: 'int', reason: 'str' },
  compare: {
    row: 'int', verdict: 'str', checked: 'int', index: '?int', expected: '?int', actual: '?int', logits: '?dict', noise: '?num',
  },
  spans: { spans: '[list]3', device: 'str', source: 'str', sync: 'str' },
  end: { status: 'str', totals: 'dict', error: 'str' },
};

/** What is wrong with the values of an event; '' if nothing is. */
export function problem(event) {
  const types = { ...COMMON, ...TYPES[event.event] };
  for (const [name, type] of Object.entries(types)) {
    const found = Object.hasOwn(event, name) ? wrong(event[name], type) : '';
    if (found) return `${name}${found}`;
  }
  return event.event === 'header' ? promptsAndLanes(event) : '';
}

function wrong(value, type) {
  if (type[0] === '?') return value === null ? '' : wrong(value, type.slice(1));
  if (type[0] === '[') {
    const entries = /\d$/.test(type) ? type.at(-1) : '';
    const item = type.slice(1, entries ? -2 : -1);
    return listOf(value, item[0] === '[' ? item + entries : item, item[0] === '[' || item === 'list' ? '' : entries, entries);
  }
  return {
    int: whole, num: finite, str: (v) => (typeof v === 'string' ? '' : `: expected a string, found ${short(v)}`),
    bool: (v) => (typeof v === 'boolean' ? '' : `: expected true or false, found ${short(v)}`),
    dict: (v) => (isObject(v) ? '' : `: expected an object, found ${short(v)}`), runs,
  }[type](value);
}

function listOf(value, item, entries, inner) {
  if (!Array.isArray(value)) return `: expected a list, found ${short(value)}`;
  if (value.length > MAX_LIST) return `: ${value.length} entries; at most ${MAX_LIST} are read`;
  if (entries && value.length !== Number(entries)) return `: expected ${entries} entries, found ${short(value)}`;
  for (const [n, v] of value.entries()) {
    const found = item === 'list' ? anyList(v, inner) : wrong(v, item);
    if (found) return `[${n}]${found}`;
  }
  return '';
}

function anyList(value, entries) {
  if (!Array.isArray(value)) return `: expected a list, found ${short(value)}`;
  return value.length === Number(entries) ? '' : `: expected ${entries} entries, found ${short(value)}`;
}

function runs(value) {
  const found = wrong(value, '[[int]]2');
  if (found) return found;
  return value.reduce((sum, [, length]) => sum + Math.abs(length), 0) > MAX_LIST ? `: the runs stand for more than ${MAX_LIST} numbers` : '';
}

function whole(value) {
  return Number.isInteger(value) && Math.abs(value) <= MAX_INT ? '' : `: expected a whole number, found ${short(value)}`;
}

function finite(value) {
  return Number.isFinite(value) ? '' : `: expected a finite number, found ${short(value)}`;
}

/** The parts of a header that everything else refers to. */
function promptsAndLanes({ prompts, lanes }) {
  const rows = new Set();
  for (const [n, p] of prompts.entries()) {
    const found = whole(p.row) ? `.row${whole(p.row)}` : wrong(p.ids, '[int]') ? `.ids${wrong(p.ids, '[int]')}` : '';
    if (found) return `prompts[${n}]${found}`;
    if (rows.has(p.row) || p.row < 0 || !p.ids.length) return `prompts[${n}]: row ${p.row} is negative, there twice, or has no ids`;
    rows.add(p.row);
  }
  const names = new Set();
  for (const [n, spec] of lanes.entries()) {
    if (typeof spec.lane !== 'string') return `lanes[${n}].lane: expected a string, found ${short(spec.lane)}`;
    if (!isObject(spec.config)) return `lanes[${n}].config: expected an object, found ${short(spec.config)}`;
    if (names.has(spec.lane) || !spec.lane) return `lanes[${n}]: the name '${spec.lane}' is empty or there twice`;
    names.add(spec.lane);
  }
  return '';
}

const isObject = (value) => value !== null && typeof value === 'object' && !Array.isArray(value);

/** A value in at most 40 characters. */
function short(value) {
  const text = Array.isArray(value) ? 'a list' : isObject(value) ? 'an object' : JSON.stringify(value) ?? 'nothing';
  return text.length <= 40 ? text : `${text.slice(0, 37)}...`;
}
