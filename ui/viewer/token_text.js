// One token as it is, for places that compare tokens: its space shown as a dot, a byte fragment as its bytes.

import { units } from './pieces.js';
import { el } from './svg.js';
import { t } from './strings.js';

/** {text, badge} of one id; undefined ids have no text. */
export function tokenText(fold, id) {
  if (id === undefined) return { text: '', badge: false };
  const [unit] = units([id], fold.pieces, fold.header.stop_ids, t('endToken'));
  return { text: unit.badge ? unit.text : unit.text.replaceAll(' ', '·'), badge: unit.badge };
}

/** The same as a node; the dots of spaces are muted. */
export function tokenNode(fold, id, name = 'span', className = '') {
  const { text, badge } = tokenText(fold, id);
  const parts = badge ? [text] : text.split(/(·+)/).map((part) => (part.startsWith('·') ? el('i', {}, part) : part));
  return el(name, { class: `r-tok${badge ? ' badge' : ''} ${className}`.trim(), dir: 'auto' }, ...parts);
}

/** The raw bytes of a token, in hex. */
export function bytesOf([text, hex] = ['', '']) {
  const pairs = hex ? hex.match(/../g) : [...new TextEncoder().encode(text)].map((byte) => byte.toString(16).padStart(2, '0'));
  return pairs.join(' ').toUpperCase();
}
