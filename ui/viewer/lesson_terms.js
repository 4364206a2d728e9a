// Names that a chapter uses and what they stand for: a button that opens by pointer, focus or tap.

import { el } from './svg.js';
import { t } from './strings.js';

/** `text` as nodes: each known name becomes a button with its meaning, where it first stands. */
export function withTerms(text) {
  const terms = Object.fromEntries(t('terms'));
  const seen = new Set();
  return text.split(new RegExp(`\\b(${Object.keys(terms).join('|')})\\b`)).map((part) => {
    if (!Object.hasOwn(terms, part) || seen.has(part)) return part;
    seen.add(part);
    return el('button', { type: 'button', class: 'r-term', 'aria-label': `${part}: ${terms[part]}` }, part, el('span', { class: 'r-means', 'aria-hidden': 'true' }, terms[part]));
  });
}
