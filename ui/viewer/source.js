// Where traces come from: the page itself (hero), a file next to it, a run on the server. One trace is open at a time.

import { Fold, fold, parseTrace, checkEvent } from './fold.js';
import { follow } from './live.js';
import { lastStep } from './clock.js';
import { t } from './strings.js';

/** Opens traces into the store. `embedded` = {name: text of a trace in the page}. A saved page has no others.
 *  `followed()`: the run on the server that was followed last. */
export function createSource(store, embedded, page = {}) {
  let stream = null;
  let followed = '';
  let shown = ''; // the text of the trace on the stage
  let turn = 0; // a slow answer must not overwrite what was opened after it

  /** Opens a trace by its name in addresses: "hero", a recorded name, "run:<id>". True when it is on the stage. */
  async function open(name) {
    const mine = ++turn;
    stream?.close();
    stream = null;
    store.set({ awaited: '' });
    if (Object.hasOwn(embedded, name)) {
      if (page.source?.kind !== 'file' || page.source.name !== name) return show(embedded[name], { kind: 'recorded', name });
      const { inspect } = await import('./inspection.js');
      file({ ...await inspect(embedded[name]), name, file: page.source.title, text: embedded[name] });
      return true;
    }
    const run = name.startsWith('run:') ? name.slice(4) : null;
    try {
      if (page.saved) throw new Error(t('notSaved'));
      const path = run ? `runs/${encodeURIComponent(run)}/trace.jsonl` : `traces/${encodeURIComponent(name)}.jsonl`;
      const answer = await fetch(new URL(path, document.baseURI));
      if (mine !== turn) return false;
      if (!answer.ok && !run) throw new Error(`${answer.status}`);
      const text = answer.ok ? await answer.text() : '';
      if (mine !== turn) return false;
      const end = run && endOf(text);
      if (run && !end) {
        if (!text) await stand();
        return live(run);
      }
      if (run && text.trimEnd().split('\n').length === 1) {
        const stood = await stand();
        store.set({ message: t('noRound', { run: run.slice(0, 8), why: end.error || end.status }) });
        return stood;
      }
      return show(text, run ? { kind: 'live', name: run } : { kind: 'recorded', name });
    } catch (error) {
      if (mine !== turn) return false;
      const stood = await stand();
      store.set({ message: t('notFound', { name, why: error.message }) });
      return stood;
    }
  }

  /** Never an empty stage: the hero stands where there is nothing to show yet. True when it had to. */
  async function stand() {
    return !store.get().fold && Object.hasOwn(embedded, 'hero') && open('hero');
  }

  function show(text, source) {
    try {
      const folded = fold(parseTrace(text));
      shown = text;
      store.set({ fold: folded, version: 0, source, message: '', live: false, ...adopt(folded, store.get()) });
      return true;
    } catch (error) {
      store.set({ message: t('badTrace', { why: error.message }) });
      return false;
    }
  }

  /** A run that is still going on. What is on the stage stays until the run's header has come. */
  function live(run) {
    stream?.close();
    turn += 1;
    followed = run;
    const folded = new Fold();
    store.set({ message: t('starting', { run: run.slice(0, 8) }), playing: false, awaited: run });
    stream = follow(run, {
      event(event) {
        try {
          folded.push(checkEvent(event, event?.seq >= 0 ? `seq ${event.seq}` : 'event'));
        } catch (error) {
          return store.set({ message: t('badTrace', { why: error.message }) });
        }
        if (event.event === 'header') {
          store.set({ fold: folded, source: { kind: 'live', name: run }, awaited: '', live: true, playing: false, step: 0, message: t('streaming'), ...adopt(folded, store.get()) });
        }
        const state = store.get();
        if (state.fold !== folded) return null;
        const step = state.live ? lastStep(state) : state.step;
        return store.set({ version: state.version + 1, step });
      },
      open: () => { if (store.get().fold === folded) store.set({ message: t('streaming') }); },
      lost: () => store.set({ message: t('lost') }),
      bye: () => store.set({ live: false, awaited: '', touched: true, message: folded.error ? t('failed', { why: folded.error }) : '' }),
      async gone(why) {
        await stand();
        store.set({ live: false, awaited: '', message: why || t('gone') });
      },
    });
    return true;
  }

  /** A file that was read and checked in this browser: {fold, name, file}. */
  function file({ fold: folded, name, file: title, text }) {
    shown = text;
    turn += 1;
    stream?.close();
    stream = null;
    store.set({ fold: folded, version: 0, source: { kind: 'file', name, title }, step: 0, playing: false, message: '', live: false, awaited: '', ...adopt(folded, store.get()) });
  }

  /** The text of a recorded trace; without a name that of the open one, which a live run's server has. */
  async function textOf(name) {
    const { source: now } = store.get();
    if (!name && now.kind !== 'live') return shown;
    if (Object.hasOwn(embedded, name ?? '')) return embedded[name];
    const answer = await fetch(new URL(name ? `traces/${encodeURIComponent(name)}.jsonl` : `runs/${encodeURIComponent(now.name)}/trace.jsonl`, document.baseURI));
    if (!answer.ok) throw new Error(`${name ?? now.name}: ${answer.status}`);
    return answer.text();
  }

  return { open, live, file, textOf, followed: () => followed };
}

/** The session's `end` event, with which a finished run's file ends; null without one. */
function endOf(text) {
  const last = text.trimEnd().split('\n').at(-1) ?? '';
  const event = last.includes('"end"') ? JSON.parse(last) : {};
  return event.event === 'end' && !event.lane ? event : null;
}

/** What of the old state fits the new trace: lanes that it has, a row that it has. */
function adopt(folded, state) {
  const lanes = folded.header.lanes.map((spec) => spec.lane);
  const rows = folded.header.prompts.map((p) => p.row);
  const left = lanes.includes(state.left) ? state.left : lanes[0];
  const right = lanes.includes(state.right) ? state.right : lanes.find((lane) => lane !== left) ?? left;
  return { left, right, row: rows.includes(state.row) ? state.row : rows[0], cell: null, note: null, hover: null, allRows: false };
}
