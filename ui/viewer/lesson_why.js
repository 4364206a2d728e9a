// The last step of a chapter: why, and where it went wrong elsewhere.

import { el } from './svg.js';
import { say } from './lesson_strings.js';

/** Draws it into `box`; like a step it returns {end, focus}. */
export function drawWhy(box, chapter, values) {
  const [why, ...links] = explanation(chapter, values);
  box.replaceChildren(why, ...links);
  return { end() {}, focus: () => why.focus({ preventScroll: true }) };
}

/** What it shows: the explanation, and links to what was seen elsewhere. */
export function explanation({ key, wild = {} }, values) {
  const why = el('p', { class: 'r-ask why', tabindex: -1 }, say(`${key}.why`, values));
  const links = Object.entries(wild).flatMap(([text, href]) => [' ', el('a', { href, target: '_blank', rel: 'noopener noreferrer' }, text)]);
  return [why, ...(links.length ? [el('p', { class: 'r-note r-wild' }, say('wild'), ...links)] : [])];
}
