// Several statements, each judged one way or the other; when all are judged they are checked together.

import { el } from './svg.js';
import { say } from './lesson_strings.js';

/** `items`: [{text, answer, at}], `at`: what the stage shows of it, where it does; `miss(item)`: what is wrong with a wrong judgement of it; `values`: the two judgements. */
export function mountRank(box, api, items, miss, values = ['harmless', 'harmful']) {
  const chosen = items.map(() => null);
  const lines = items.map((item, n) => {
    const buttons = values.map((value) => el('button', { type: 'button', 'aria-pressed': 'false', 'data-value': value, onclick: () => { look(n); choose(n, value); check(); } }, say(`rank.${value}`)));
    return el('div', { class: 'r-rankline', role: 'group', 'aria-label': item.text },
      item.at ? el('button', { type: 'button', class: 'r-text', title: say('rank.show'), onclick: () => look(n) }, item.text) : el('span', {}, item.text), ...buttons);
  });
  box.append(el('div', { class: 'r-rank' }, ...lines));
  if (items[0].at) lines[0].classList.add('shown'); // the step's own view

  /** Brings what a statement is about onto the stage. */
  function look(n) {
    if (!items[n].at) return;
    api.show(items[n].at);
    lines.forEach((line, m) => line.classList.toggle('shown', m === n));
  }

  function choose(n, value) {
    chosen[n] = value;
    lines[n].querySelectorAll('button').forEach((button) => button.setAttribute('aria-pressed', String(button.dataset.value === value)));
  }

  function check() {
    if (chosen.includes(null)) return;
    const wrong = items.find((item, n) => item.answer !== chosen[n]);
    if (wrong) api.miss(miss(wrong));
    else api.solve();
  }

  return { show: () => items.forEach(({ answer }, n) => choose(n, answer)) };
}
