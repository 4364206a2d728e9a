// The quiet line: what is shown (recorded run, model, date), the trace as a file, other runs, your prompts, a link.

import { el, svg } from './svg.js';
import { copyText } from './copy.js';
import { shareUrl } from './link.js';
import { t } from './strings.js';

const WITHIN = ['faults', 'rounding']; // recorded for a chapter, which opens it

export function mountFoot({ foot: node, extra }, store, page, embedded, open, { drop: openDrop, export: openExport }) {
  const badge = el('span', { class: 'r-badge' });
  const download = el('a', { download: true }, t('download'));
  const runs = el('span', { class: 'r-runs' });
  const yours = el('button', { type: 'button', class: 'r-text', hidden: true, onclick: showPrompts }, t('yours'));
  const status = el('span', { class: 'r-status', role: 'status' });
  const copyLink = () => copyText(shareUrl(store.get(), page.space), status, t('copied'));
  const tool = (words, path, onclick, hidden) => el('button', { type: 'button', class: 'r-tool', 'aria-label': words, title: words, hidden, onclick },
    svg('svg', { width: 18, height: 18, viewBox: '0 0 18 18', 'aria-hidden': 'true' }, svg('path', { d: path, class: 'line' })), el('span', {}, words));
  extra.append(tool(t('drop.open'), 'M4 2h7l3 3v11H4zM6.5 10l2 2 3.5-4.5', openDrop), tool(t('export.open'), 'M9 2v9M5.5 8L9 11.5 12.5 8M3 13v3h12v-3', openExport, page.saved));
  node.append(badge, runs, yours, el('button', { type: 'button', class: 'r-text', onclick: copyLink }, t('copyLink')), download, status);

  let blob = '';
  store.subscribe((state, changed) => {
    if (changed.has('message')) status.textContent = state.message;
    if (!state.fold?.header || !(changed.has('fold') || changed.has('source') || changed.has('right'))) return;
    badge.textContent = badgeOf(state);
    if (blob) URL.revokeObjectURL(blob);
    blob = '';
    const { kind, name } = state.source;
    download.hidden = kind === 'file'; // whoever dropped it has it
    const file = kind === 'live' ? `runs/${encodeURIComponent(name)}/trace.jsonl` : `traces/${encodeURIComponent(name)}.jsonl`;
    if (name in embedded) blob = URL.createObjectURL(new Blob([embedded[name]], { type: 'application/x-ndjson' }));
    download.href = blob || new URL(file, document.baseURI).href;
    download.download = `ragged-${name}.jsonl`;
    drawRuns(runs, state, page, open);
  });
  waitFor('your-prompts', () => { yours.hidden = false; });
  return { copyLink };
}

function badgeOf({ fold, source }) {
  const { models, created } = fold.header;
  const model = models?.target?.name?.split('/').at(-1) ?? '';
  return t('badge', { kind: t(`kind.${source.kind}`), model, date: (created ?? '').slice(0, 10) });
}

function drawRuns(node, state, page, open) {
  const traces = (page.traces ?? []).map((trace) => (typeof trace === 'string' ? { name: trace } : trace));
  const others = traces.filter(({ name }) => !WITHIN.includes(name) && (name !== state.source.name || state.source.kind !== 'recorded'));
  const links = others.flatMap(({ name, title }) => [' ', el('a', {
    href: `?t=${encodeURIComponent(name)}`, title: title || null, onclick: (event) => { event.preventDefault(); open(name); },
  }, name)]);
  node.replaceChildren(...(links.length ? [t('runs'), ...links] : []));
}

/** Gradio's controls: shown and brought into view. */
function showPrompts() {
  const target = document.getElementById('your-prompts');
  target.classList.toggle('open');
  const calm = matchMedia('(prefers-reduced-motion: reduce)').matches;
  if (target.classList.contains('open')) target.scrollIntoView({ behavior: calm ? 'auto' : 'smooth', block: 'start' });
}

/** Calls `then(element)` once an element with this id exists. */
export function waitFor(id, then) {
  const found = document.getElementById(id);
  if (found) return then(found);
  const watch = new MutationObserver(() => {
    const late = document.getElementById(id);
    if (!late) return;
    watch.disconnect();
    then(late);
  });
  watch.observe(document.documentElement, { childList: true, subtree: true });
  return null;
}
