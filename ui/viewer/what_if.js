// What if: in the inspector of a generated token, the other tokens that the trace names there, and any other by its text
// or id. Choosing one asks the server for a run in which the row goes on from it; the run is followed like any other.

import { mountChanged } from './changed.js';
import { bornAt, topTwo } from './born.js';
import { holdFocus } from './hold_focus.js';
import { tokenNode } from './token_text.js';
import { el } from './svg.js';
import { t, laneLong } from './strings.js';

/** Tokens that could stand at a cell instead: [{id, why: [words]}], each once; those that end a row are left out. */
export function othersAt({ fold, left, right }, { lane, row, index }) {
  const { ids, prompt } = fold.lanes[lane].rows[row];
  const born = bornAt(fold.lanes[lane], row, index - prompt);
  if (!born) return [];
  const { frame, i, j } = born;
  const beside = lane === left ? right : left;
  const drafted = j < (frame.lens[i] ?? 0) ? frame.draft[i]?.[j] : undefined;
  const named = [
    [frame.choice[i]?.[j], t('whatIf.best')], [topTwo(born)?.[1].id, t('whatIf.second')], [drafted, t('whatIf.draft')],
    [fold.lanes[beside]?.rows[row]?.ids[index], t('whatIf.lane', { lane: laneLong(beside) })],
  ];
  const found = new Map();
  for (const [id, why] of named) {
    if (id === undefined || id === ids[index] || fold.header.stop_ids.includes(id)) continue;
    found.set(id, [...(found.get(id) ?? []), why]);
  }
  return [...found].map(([id, why]) => ({ id, why }));
}

/** What was typed: "#314" is an id, anything else a text that the server's model has as one token. */
const asToken = (typed) => (/^#\d{1,9}$/.test(typed) ? { token: Number(typed.slice(1)) } : { text: typed });

/** `open(link)` opens another trace. A saved page and a dropped file have no server that knows them: it says so. */
export function mountWhatIf(at, store, page, open) {
  const changed = mountChanged(at, store, page, open);
  const about = el('p', { class: 'r-note' });
  const choices = el('div', { class: 'r-others' });
  const typed = el('input', { type: 'text', id: 'r-whatif-text', maxlength: 200, autocomplete: 'off', spellcheck: 'false', 'aria-describedby': 'r-whatif-hint' });
  const form = el('form', { class: 'r-typed', onsubmit: (event) => { event.preventDefault(); if (typed.value) start(asToken(typed.value)); } },
    el('label', { for: 'r-whatif-text' }, t('whatIf.typed')), typed, el('button', { type: 'submit', class: 'r-do' }, t('whatIf.go')),
    el('small', { id: 'r-whatif-hint' }, t('whatIf.hint')));
  const said = el('p', { role: 'status' });
  const node = el('section', { class: 'r-whatif', 'aria-label': t('whatIf.title'), hidden: true }, el('h3', {}, t('whatIf.title')), about, choices, form, said);
  at.stage.querySelector('#ragged-inspector').append(node);
  let ticket = {}; //   of the visitor's latest run, as the server told it
  let awaited = null; // the run that was started here
  window.addEventListener('ragged:run', ({ detail }) => { ticket = detail ?? {}; });

  store.subscribe((state, keys) => {
    if (keys.has('cell')) said.textContent = typed.value = '';
    if (keys.has('fold') && awaited && state.source.name === awaited) {
      awaited = null;
      changed.focus();
    }
    if (['cell', 'inspect', 'fold', 'left', 'right', 'chapter'].some((key) => keys.has(key))) update(state);
  });
  update(store.get()); // a link may have opened the inspector before

  function update(state) {
    const { fold, cell, inspect, source, chapter } = state;
    const own = inspect && cell && fold?.lanes[cell.lane]?.rows[cell.row];
    node.hidden = Boolean(chapter || !own || cell.index < own.prompt || cell.index >= own.ids.length);
    const why = page.saved ? t('whatIf.saved') : source.kind === 'file' ? t('whatIf.file') : '';
    form.hidden = choices.hidden = Boolean(why);
    if (why) about.textContent = why;
    else if (!node.hidden) holdFocus(node, () => draw(state));
  }

  function draw(state) {
    const others = othersAt(state, state.cell);
    about.textContent = !others.length ? t('whatIf.none') : t(state.fold.header.prompts.length > 1 ? 'whatIf.about' : 'whatIf.aboutOne', { row: state.cell.row + 1 });
    choices.replaceChildren(...others.map(({ id, why }) => el('button', { type: 'button', class: 'r-do', 'data-key': `what-if/${id}`, onclick: () => start({ token: id }) },
      tokenNode(state.fold, id), ' ', el('small', {}, why.join(', ')))));
  }

  async function start(chosen) {
    const { source, cell: { lane, row, index }, fold } = store.get();
    const trace = source.kind === 'live' ? `run:${source.name}` : source.name;
    const held = ticket.mine && ['queued', 'running'].includes(ticket.status) ? ticket.run : '';
    const asked = { trace, lane, row, index: index - fold.lanes[lane].rows[row].prompt, ...chosen, held };
    const disable = (on) => node.querySelectorAll('button').forEach((button) => { button.disabled = on; });
    disable(true);
    said.textContent = t('whatIf.starting');
    try {
      const answer = await fetch(new URL('what-if', document.baseURI), { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(asked) });
      const told = await answer.json();
      if (!answer.ok) throw new Error(t('whatIf.refused', told));
      awaited = told.run;
      for (const name of ['ragged:run', 'ragged:ticket']) window.dispatchEvent(new CustomEvent(name, { detail: told })); // the stage; the form
    } catch (error) {
      said.textContent = error instanceof TypeError || error instanceof SyntaxError ? t('whatIf.noServer') : error.message;
    }
    disable(false);
  }
}
