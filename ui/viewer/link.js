// The view as an address: ?t=<trace>&r=<round>&row=<row>&cell=<lane.row.index>&view=<tensor view>&cmp=<right lane>
// &note=<lane.row.index.text>&left=<left lane>&open=<debug, cell, round, joined by dots>&stop=empty&ch=<chapter>. A trace is a recorded one's name, run:<id>, or
// file:<digest>:<name> of a file that was dropped here.
// A chapter sets the stage itself: beside it there is a note alone.
// Read at the start and on popstate; written on pause, never faster than browsers allow.

import { VIEWS } from './views.js';

const OURS = ['t', 'r', 'row', 'cell', 'view', 'cmp', 'left', 'open', 'stop', 'note', 'ch'];
const PAUSE_MS = 400;

/** The state that an address asks for; only what it names. Nonsense is ignored. */
export function readLink(search = location.search) {
  const query = new URLSearchParams(search);
  const out = {};
  if (query.get('t')) out.trace = query.get('t');
  if (/^-?\d+$/.test(query.get('r') ?? '')) out.step = Number(query.get('r'));
  if (/^\d+$/.test(query.get('row') ?? '')) out.row = Number(query.get('row'));
  if (VIEWS.includes(query.get('view'))) out.view = query.get('view');
  if (query.get('cmp')) out.right = query.get('cmp');
  if (query.get('left')) out.left = query.get('left');
  const open = (query.get('open') ?? '').split('.');
  if (open.includes('debug')) out.debug = true;
  if (open.includes('cell')) out.inspect = true;
  if (open.includes('round')) out.micro = true;
  if (query.get('stop') === 'empty') out.stopEmpty = true;
  if (/^[1-9]\d?$/.test(query.get('ch') ?? '')) out.chapter = Number(query.get('ch'));
  const cell = /^(.+)\.(\d+)\.(\d+)$/.exec(query.get('cell') ?? '');
  const note = /^(.+?)\.(\d+)\.(\d+)\.([\s\S]{1,280})$/u.exec(query.get('note') ?? '');
  if (note) out.note = { lane: note[1], row: Number(note[2]), index: Number(note[3]), text: note[4] };
  if (cell) out.cell = { lane: cell[1], row: Number(cell[2]), index: Number(cell[3]) };
  return out;
}

/** The query of a state. Parameters of others (Gradio's own) are kept. */
export function queryOf(state, search = location.search) {
  const query = new URLSearchParams(search);
  OURS.forEach((name) => query.delete(name));
  const { source, step, row, cell, view, tensorsOpen, left, right, debug, inspect, stopEmpty, note, micro } = state;
  const trace = source.kind === 'live' ? `run:${source.name}` : source.name;
  if (note) query.set('note', `${note.lane}.${note.row}.${note.index}.${note.text}`);
  if (state.chapter) { // it sets the stage itself
    query.set('ch', state.chapter);
    return `?${query}`;
  }
  if (trace !== 'hero') query.set('t', trace);
  query.set('r', step);
  query.set('row', row);
  if (cell) query.set('cell', `${cell.lane}.${cell.row}.${cell.index}`);
  if (tensorsOpen || view !== 'kinds') query.set('view', view);
  if (right !== 'bsp') query.set('cmp', right);
  if (left !== 'eqspec') query.set('left', left);
  const open = [debug && 'debug', inspect && cell && 'cell', micro && 'round'].filter(Boolean);
  if (open.length) query.set('open', open.join('.'));
  if (stopEmpty) query.set('stop', 'empty');
  return `?${query}`;
}

/** A link for others. Inside a Space's frame the address that people know is the Space's own. */
export function shareUrl(state, space) {
  const base = space ? `https://huggingface.co/spaces/${space}` : location.origin + location.pathname;
  const form = new URLSearchParams([...new URLSearchParams(location.search)].filter(([name]) => name.startsWith('f.'))); // as in ui/form_link.js
  return base + queryOf(state, space ? String(form) : location.search);
}

export function mountLink(store, open) {
  let timer = 0;
  let shown = location.search;
  store.subscribe((state) => {
    clearTimeout(timer);
    if (state.live || state.awaited) return nameRun(state.awaited || state.source.name);
    if (state.playing || !state.touched || !state.fold) return;
    timer = setTimeout(() => {
      const query = queryOf(store.get());
      if (query !== location.search) history.replaceState(history.state, '', query + location.hash);
      shown = location.search;
    }, PAUSE_MS);
  });

  /** A run under way is named at once, without a round, also while it waits: a reload comes back to it and follows on. */
  function nameRun(run) {
    const query = new URLSearchParams(location.search);
    if (query.get('t') === `run:${run}`) return;
    OURS.forEach((name) => query.delete(name));
    query.set('t', `run:${run}`);
    history.replaceState(history.state, '', `?${query}${location.hash}`);
    shown = location.search;
  }

  window.addEventListener('popstate', () => {
    if (location.search === shown) return; // only the part behind # changed
    shown = location.search;
    open(readLink());
  });
}
