// Several statements, each judged one way or the other, then checked together.

import { el } from './svg.js';
import { say } from './lesson_strings.js';

/** `items`: [{text, answer}]; `miss(item)`: what is wrong with a wrong judgement of it; `values`: the two judgements. */
export function mountRank(box, api, items, miss, values = ['harmless', 'harmful']) {
  const chosen = items.map(() => null);
  const sure = el('button', { type: 'button', disabled: true, onclick: check }, say('rank.sure'));
  const lines = items.map((item, n) => {
    const buttons = values.map((value) => el('button', { type: 'button', 'aria-pressed': 'false', 'data-value': value, onclick: () => choose(n, value) }, say(`rank.${value}`)));
    return el('div', { class: 'r-rankline', role: 'group', 'aria-label': item.text }, el('span', {}, item.text), ...buttons);
  });
  box.append(el('div', { class: 'r-rank' }, ...lines), sure);

  function choose(n, value) {
    chosen[n] = value;
    lines[n].querySelectorAll('button').forEach((button) => button.setAttribute('aria-pressed', String(button.dataset.value === value)));
    sure.disabled = chosen.includes(null);
  }

  function check() {
    const wrong = items.find((item, n) => item.answer !== chosen[n]);
    if (wrong) api.miss(miss(wrong));
    else api.solve();
  }

  return { show: () => items.forEach(({ answer }, n) => choose(n, answer)) };
}
