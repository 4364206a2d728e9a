// What a chapter explains in the end, below its last answer: why, and where it went wrong elsewhere.

import { el } from './svg.js';
import { say } from './lesson_strings.js';

/** Its paragraph: the explanation, and links to where it was seen. */
export function explanation({ key, wild = {} }, values) {
  const links = Object.entries(wild).map(([text, href]) => el('a', { href, target: '_blank', rel: 'noopener noreferrer' }, text));
  return el('p', { class: 'r-because', tabindex: -1 }, say(`${key}.why`, values),
    ...(links.length ? [' ', el('span', { class: 'r-wild' }, say(`${key}.wild`), ' ', ...links)] : []));
}
