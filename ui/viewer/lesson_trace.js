// The recorded runs that chapters are about: folded once, kept apart from what the stage shows otherwise.

import { fold, parseTrace } from './fold.js';

/** `load(name)` gives the folded trace: the stage's own where it shows that run, the page's (`embedded`), or the server's file. */
export function createTraces(store, embedded) {
  const kept = new Map();
  return async function load(name) {
    const { fold: shown, source } = store.get();
    if (shown && source.kind === 'recorded' && source.name === name) return shown;
    if (!kept.has(name)) kept.set(name, fold(parseTrace(Object.hasOwn(embedded, name) ? embedded[name] : await text(name))));
    return kept.get(name);
  };
}

async function text(name) {
  const answer = await fetch(new URL(`traces/${encodeURIComponent(name)}.jsonl`, document.baseURI));
  if (!answer.ok) throw new Error(String(answer.status));
  return answer.text();
}
