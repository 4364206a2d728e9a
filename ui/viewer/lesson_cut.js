// The crop handle: one edge over one or several rows of KV entries. Behind it everything is thrown away.

import { el } from './svg.js';

const MARK = { kept: '✓', rejected: '✗', fed: '', old: '' };

/** `task` = {lines: [{name, cells: [{text, under, kind}]}], marks, label, button, under, start, answer, miss(n)}. */
export function mountCut(box, api, task) {
  const columns = Math.max(...task.lines.map(({ cells }) => cells.length));
  const board = el('div', { class: 'r-cut' });
  for (const { name, cells } of task.lines) {
    board.append(el('span', { class: 'r-cutname' }, el('span', {}, name), task.under ? el('small', {}, task.under) : null),
      el('div', { class: 'r-cutline' }, ...cells.map((cell) => el('span', { class: `r-cutcell ${task.marks ? cell.kind : ''}` },
      el('b', { title: cell.text }, cell.text), task.marks ? el('i', {}, MARK[cell.kind]) : el('small', { title: cell.under }, cell.under || '·')))));
  }
  const edge = el('input', { type: 'range', min: 0, max: columns, step: 1, value: task.start, 'aria-label': task.label, oninput: () => { api.clear(); show(); } });
  board.append(el('span'), el('div', { class: 'r-cutedge' }, edge));
  const button = el('button', { type: 'button', onclick: () => (at() === task.answer ? api.solve() : api.miss(task.miss(at()))) }, task.button);
  box.append(el('div', { class: `r-cutbox${task.marks ? ' marks' : ''}`, style: `--n:${columns}` }, board), button);
  board.querySelectorAll('.r-cutline').forEach((line) => { line.onclick = ({ target }) => { // a cell is cut off, or back on
    const n = [...line.children].indexOf(target.closest('.r-cutcell'));
    if (n < 0) return;
    edge.value = n < at() ? n : n + 1;
    api.clear();
    show();
  }; });
  show();

  function at() {
    return Number(edge.value);
  }

  function show() {
    edge.setAttribute('aria-valuetext', task.lines.map(({ cells }) => cells[at() - 1]?.text ?? '').join(', '));
    for (const line of board.querySelectorAll('.r-cutline')) {
      [...line.children].forEach((cell, n) => {
        cell.classList.toggle('off', n >= at());
        cell.classList.toggle('last', n === at() - 1);
      });
    }
  }

  return { show() { edge.value = task.answer; show(); } };
}
