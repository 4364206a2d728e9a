// The answer key: every bet and check of every chapter with its computed answer, one list, made for printing.

import { answerOf } from './lesson_step.js';
import { el } from './svg.js';
import { say } from './lesson_strings.js';

/** Puts the link to the key into the panel; the key itself is made when it is asked for. */
export function mountKey(panel, chapters, load) {
  const place = el('div', { class: 'r-answers', hidden: true });
  const toggle = el('button', { type: 'button', class: 'r-text', 'aria-expanded': 'false', onclick: show }, say('key'));
  panel.querySelector('.r-lnav').append(toggle);
  panel.append(place);

  async function show() {
    const opens = place.hidden;
    if (opens) place.replaceChildren(...await contents(chapters, load));
    place.hidden = !opens;
    toggle.setAttribute('aria-expanded', String(opens));
  }
}

async function contents(chapters, load) {
  const parts = [];
  for (const [n, chapter] of chapters.entries()) {
    parts.push(el('h3', {}, say('chapter', { n: n + 1, title: say(`${chapter.key}.title`) })));
    try {
      const values = chapter.facts(await load(chapter.trace));
      parts.push(...(values ? answers(chapter, values) : [el('p', {}, say('cannot'))]));
    } catch (error) {
      parts.push(el('p', {}, say('noTrace', { why: error.message })));
    }
  }
  const print = el('button', { type: 'button', class: 'r-text', onclick: () => window.print() }, say('print'));
  return [el('h2', {}, say('key')), el('p', { class: 'r-note' }, say('keyNote'), ' ', print), ...parts];
}

function answers(chapter, values) {
  const asked = chapter.steps(values).filter(({ kind }) => kind !== 'act');
  return [el('dl', {}, ...asked.flatMap((step) => [el('dt', {}, step.ask, ...(step.note ? [' ', el('small', { class: 'r-label' }, step.note)] : [])), el('dd', {}, answerOf(step))])),
    el('p', {}, say(`${chapter.key}.why`, values))];
}
