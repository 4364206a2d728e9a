// A note pinned to a token. It is kept in the address alone: who gets the link reads it, nobody else does.

import { el } from './svg.js';
import { t, laneLong } from './strings.js';

const MAX = 280; // characters: links must stay short enough for mail and chat

/** `act` = {jump(step, row, cell, lane)}. Returns {edit()}, which opens the field for the pinned cell. */
export function mountNote(at, store, act) {
  const node = el('div', { class: 'r-pinned', hidden: true });
  at.transport.after(node);
  let editing = null; // {lane, row, index}

  store.subscribe((state, changed) => {
    if (changed.has('fold')) editing = null;
    if (changed.has('note') || changed.has('fold') || (!editing && ['alias', 'guessing', 'left', 'right'].some((key) => changed.has(key)))) draw();
  });
  draw();

  function draw() {
    const { note, fold } = store.get();
    node.hidden = !editing && !(note && fold?.lanes[note.lane]?.rows[note.row]);
    if (node.hidden) return node.replaceChildren();
    return editing ? drawField(note) : drawNote(note);
  }

  function drawNote(note) {
    const { guessing, left, right } = store.get();
    const away = guessing && note.lane !== left && note.lane !== right; // another lane could answer the open question
    const button = (key, onclick, hidden = false) => el('button', { type: 'button', class: 'r-text', onclick, hidden }, t(key));
    node.replaceChildren(el('p', {}, el('small', {}, whereOf(note)), ' ', el('q', { dir: 'auto' }, note.text)),
      el('span', { class: 'r-itools' }, button('note.show', () => act.jump(null, note.row, cellOf(note), laneShown(note)), away),
        button('note.edit', () => edit(cellOf(note))), button('note.remove', () => keep(''))));
  }

  function drawField(note) {
    const field = el('textarea', { rows: 2, maxlength: MAX, 'aria-label': t('note.field', { n: MAX }), placeholder: t('note.field', { n: MAX }) });
    field.value = note && same(note, editing) ? note.text : '';
    field.addEventListener('keydown', (event) => {
      if (event.key !== 'Escape') return;
      event.stopPropagation();
      editing = null;
      draw();
    });
    node.replaceChildren(el('p', {}, el('small', {}, whereOf(editing))), field, el('button', { type: 'button', class: 'r-do', onclick: () => keep(field.value.trim()) }, t('note.keep')));
    field.focus();
  }

  /** Where the note is about a lane that is not on the screen, that lane comes up. */
  function laneShown({ lane }) {
    const { left, right } = store.get();
    return lane === left ? right : lane;
  }

  function keep(text) {
    const cell = editing;
    editing = null;
    store.set({ note: text ? { ...(cell ?? store.get().note), text } : null, touched: true });
    draw();
    at.board.parentElement.focus({ preventScroll: true });
  }

  function whereOf({ lane, row, index }) {
    const { prompt } = store.get().fold.lanes[lane].rows[row];
    return t(index < prompt ? 'note.onPrompt' : 'note.on', { lane: laneLong(lane), row: row + 1, n: index < prompt ? index + 1 : index - prompt + 1 });
  }

  function edit(cell = store.get().cell) {
    editing = cell;
    draw();
    node.scrollIntoView({ block: 'nearest' });
  }

  return { edit };
}

const cellOf = ({ lane, row, index }) => ({ lane, row, index });
const same = (a, b) => a.lane === b.lane && a.row === b.row && a.index === b.index;
