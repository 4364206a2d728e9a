// Does an event of a foreign trace fit what came before it? Asked before it is folded, so that a refusal says what is
// wrong, where, and what would work. Also refused: what would only cost time. The port of engine/bounds.py, word for word.

const MAX_CELLS = 1 << 20; // rows x slots of one event
const MAX_ROWS = 1024;

/** Why an event cannot follow; '' when it can, as far as can be said before folding it. */
export function misfit(fold, event) {
  const { event: kind, lane: name = '', step = 0 } = event;
  if (kind === 'header') return fold.header ? 'a second header' : '';
  if (kind === 'pieces' || (kind === 'end' && !name)) return '';
  const lane = fold.lanes[name];
  if (!lane) return `there is no lane '${name}'; the header names ${Object.keys(fold.lanes).join(', ') || 'none'}`;
  const frame = lane.frames.at(-1);
  if (kind === 'schedule') return schedule(lane, frame, step, event.rows);
  if (kind === 'compare' || kind === 'row_done') return rowOf(lane, event.row);
  if (!frame || step !== frame.step) return ''; // the fold says so
  if (kind === 'verify') return verify(frame, event);
  if (kind === 'commit') return onePerRow(frame, event, ['emitted', 'kinds']);
  return kind === 'kv' || kind === 'kv_op' ? cache(lane, frame, event, kind === 'kv') : '';
}

function schedule(lane, frame, step, rows) {
  if (frame && step <= frame.step) return `step ${frame.step} came before`;
  if (new Set(rows).size < rows.length || rows.length > MAX_ROWS) return `a row is listed twice, or there are more than ${MAX_ROWS}`;
  return rows.map((row) => rowOf(lane, row)).find(Boolean) ?? '';
}

function verify(frame, event) {
  const found = onePerRow(frame, event, ['lens', 'positions', 'owners', 'slots', 'choice', ...(event.tokens === null ? [] : ['tokens'])]);
  if (found) return found;
  for (const [i, row] of frame.rows.entries()) {
    if (event.slots[i] < 0) return `slots[${i}] is ${event.slots[i]}, a negative slot; the first one is 0`;
    if (!event.positions[i].length) return `positions[${i}] is empty; give the positions that row ${row} is fed at`;
  }
  return '';
}

function cache(lane, frame, event, kv) {
  if (!Object.hasOwn(lane.maps, event.model)) return `there is no model '${event.model}'; choose target or draft`;
  const { runs = [], moves = [], reset = false } = event;
  const written = (kv ? runs : moves).reduce((sum, run) => sum + Math.abs(run.at(-1)), 0);
  if (Math.max(1, frame.rows.length) * event.width > MAX_CELLS || written > MAX_CELLS) return `more than ${MAX_CELLS} cells in one event`;
  const held = new Set(Object.keys(lane.maps[event.model]).map(Number));
  if (kv) {
    const n = runs.findIndex(([row]) => !frame.rows.includes(row));
    if (n >= 0) return `runs[${n}]: row ${runs[n][0]} is not in step ${frame.step}, which has ${listed(frame.rows)}`;
    for (const row of reset ? runs.map(([r]) => r) : frame.rows) held.add(row);
  }
  for (const name of kv ? ['hide', 'show'] : ['moves']) {
    const n = (event[name] ?? []).findIndex(([row]) => !held.has(row));
    if (n >= 0) return `${name}[${n}]: row ${event[name][n][0]} has nothing in the cache; ${listed([...held].sort((a, b) => a - b))} have`;
  }
  return '';
}

function rowOf(lane, row) {
  return Object.hasOwn(lane.rows, row) ? '' : `there is no row ${row}; the header has ${listed(Object.keys(lane.rows))}`;
}

function onePerRow(frame, event, names) {
  const name = names.find((field) => event[field].length !== frame.rows.length);
  return name ? `${name} has ${event[name].length} entries for ${listed(frame.rows)}; give one for each` : '';
}

/** Some rows in a sentence. */
function listed(rows) {
  const more = rows.length > 8 ? ` and ${rows.length - 8} more` : '';
  return rows.length ? `rows ${rows.slice(0, 8).join(', ')}${more}` : 'no row';
}
