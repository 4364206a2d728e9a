// Delta of one row, by hand: the row slides until its pads and its content fill the batch's width.

import { el } from './svg.js';
import { say } from './lesson_strings.js';

/** `task` = {pads, c, width, low, high, answer, miss(sum)}: p + delta + c = L has one solution, `answer`. */
export function mountShift(box, api, task) {
  const range = el('input', { type: 'range', min: Math.max(task.low, -task.pads), max: task.high, step: 1, value: 0, 'aria-label': say('realign.delta'), oninput: () => { api.clear(); show(); } });
  const pads = el('span', { class: 'pads' });
  const content = el('span', { class: 'content' }, say('realign.content', { n: task.c }));
  const rest = el('span', { class: 'rest' });
  let moved = false; // only then is it said whether the sum is right: before that it is the question
  const sum = el('output', { class: 'r-sum' });
  const button = el('button', { type: 'button', onclick: move }, say('realign.move'));
  const three = ['unpad', 'append', 'repad'].map((name) => el('li', {}, say(`realign.${name}`, task)));
  box.append(el('div', { class: 'r-shift' }, el('ol', {}, ...three), el('div', { class: 'r-shiftbar', 'aria-hidden': 'true', style: `--w:${task.width}` }, pads, content, rest), range, sum), button);
  show();

  function move() {
    if (at() !== task.answer) return api.miss(task.miss(total()));
    done();
    return api.solve();
  }

  function done() {
    moved = true;
    show();
  }

  function at() {
    return Number(range.value);
  }

  function total() {
    return task.pads + at() + task.c;
  }

  function show() {
    const p = task.pads + at();
    pads.style.setProperty('--n', p);
    pads.textContent = p ? say('realign.pads', { n: p }) : '';
    content.style.setProperty('--n', task.c);
    rest.style.setProperty('--n', Math.max(0, task.width - total()));
    const sign = at() < 0 ? '−' : '+';
    const right = moved && total() === task.width;
    sum.textContent = say(right ? 'realign.sum' : 'realign.sumNot', { p: task.pads, sign, delta: Math.abs(at()), c: task.c, total: total(), width: task.width });
    sum.classList.toggle('right', right);
    range.setAttribute('aria-valuetext', sum.textContent);
  }

  return { show() { range.value = task.answer; done(); } };
}
