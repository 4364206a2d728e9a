// The chapter's panel: head with the chapters, lead, the four stages, the way on, and the step's place. In the flow.
// The way on comes after the step: beside it, and on a phone below it, where the step keeps the room of its answer.

import { el } from './svg.js';
import { say } from './lesson_strings.js';
import { withTerms } from './lesson_terms.js';

const STAGES = ['predict', 'act', 'check', 'why'];

/** Builds the empty panel. `act` = {open(n), next(), back(), leave()}. */
export function buildPanel(chapters, act) {
  const title = el('h2');
  const numbers = chapters.map((chapter, n) => el('button', { type: 'button', onclick: () => act.open(n) }, String(n + 1)));
  const stages = STAGES.map((stage) => el('li', {}, say(`stages.${stage}`)));
  const at = {
    title, numbers, stages,
    lead: el('p', { class: 'r-lead' }),
    step: el('div', { class: 'r-step' }),
    trouble: el('p', { class: 'r-feed wrong', role: 'alert' }),
    back: el('button', { type: 'button', class: 'r-go', onclick: act.back }, say('back')),
    next: el('button', { type: 'button', class: 'r-go next', onclick: act.next }, say('next')),
  };
  at.panel = el('section', { id: 'ragged-lesson', class: 'r-panel r-lesson', hidden: true, 'aria-label': say('panel') },
    el('div', { class: 'r-phead' }, title, el('div', { class: 'r-chapters', role: 'group', 'aria-label': say('panel') }, ...numbers),
      el('button', { type: 'button', class: 'r-text', onclick: act.leave }, say('leave'))),
    at.lead, el('ol', { class: 'r-stages' }, ...stages),
    at.step, el('div', { class: 'r-lnav' }, at.back, at.next, el('span', { class: 'r-note' }, say('keys'))), at.trouble);
  return at;
}

/** The head of chapter n at one of its stages. */
export function drawHead(at, chapters, n, stage, values, done) {
  const title = say(`${chapters[n].key}.title`);
  at.trouble.textContent = '';
  at.title.replaceChildren(title, ' ', el('small', {}, say('place', { n: n + 1, all: chapters.length })));
  at.lead.replaceChildren(...withTerms(say(`${chapters[n].key}.lead`, values)));
  at.numbers.forEach((button, m) => {
    const finished = done.includes(chapters[m].key);
    button.classList.toggle('done', finished);
    if (m === n) button.setAttribute('aria-current', 'true');
    else button.removeAttribute('aria-current');
    button.title = say(finished ? 'chapterDone' : 'chapter', { n: m + 1, title: say(`${chapters[m].key}.title`) });
    button.setAttribute('aria-label', button.title);
  });
  at.stages.forEach((item, m) => {
    if (STAGES[m] === stage) item.setAttribute('aria-current', 'step');
    else item.removeAttribute('aria-current');
    item.classList.toggle('past', m < STAGES.indexOf(stage));
  });
}
