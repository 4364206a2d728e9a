// Token texts made legible: byte fragments joined to the character they spell, whitespace and controls shown.
// A unit is what is drawn as one piece: {indices, text, badge}; indices count the tokens it was given.

import { t } from './strings.js';

const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;
const JOINERS = /[\u200c\u200d]/gu; // they shape scripts and emoji: never a badge inside other text

/** The bytes of a token: given as hex where they are not the text's own UTF-8. */
function bytesOf([text, hex]) {
  if (!hex) return [...new TextEncoder().encode(text)];
  return hex.match(/../g).map((pair) => parseInt(pair, 16));
}

/** Units of a list of ids. `pieces`: id -> [text, hex]; `stop`: ids that end a text. */
export function units(ids, pieces, stop, endWord) {
  const out = [];
  let held = []; // tokens of a character that is not complete yet
  let bytes = [];
  const release = () => {
    if (held.length) out.push({ indices: held, text: bytes.map(hex2).join(' '), badge: true });
    [held, bytes] = [[], []];
  };
  ids.forEach((id, index) => {
    const piece = pieces[id] ?? [`#${id}`, ''];
    if (id === null) { // of a field that a file leaves open
      release();
      out.push({ indices: [index], text: t('noToken'), badge: true });
    } else if (id < 0 || stop.includes(id)) { // -1: the row alone had ended already
      release();
      out.push({ indices: [index], text: endWord, badge: true });
    } else if (!piece[1]) {
      release(); // whole text never completes a broken character
      out.push({ indices: [index], ...visible(piece[0]) });
    } else {
      held.push(index);
      bytes.push(...bytesOf(piece));
      const text = decode(bytes);
      if (text !== null) {
        out.push({ indices: held, ...visible(text) });
        [held, bytes] = [[], []];
      } else if (bytes.length > 8) release();
    }
  });
  release();
  return out;
}

/** The text of complete UTF-8, else null. */
function decode(bytes) {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(new Uint8Array(bytes));
  } catch {
    return null;
  }
}

/** Line breaks and tabs as arrows, lone controls as their code point. Spaces stay spaces between words. */
function visible(text) {
  if (/^\s+$/u.test(text) && !/[\n\r\t]/.test(text)) return { text, badge: false };
  const shown = text.replace(/\r?\n/g, '↵').replace(/\t/g, '⇥');
  if (shown.replace(JOINERS, '') === '' && shown) return { text: code(shown), badge: true };
  const bad = [...shown.replace(JOINERS, '')].find((c) => INVISIBLE.test(c));
  return bad ? { text: code(bad), badge: true } : { text: shown, badge: false };
}

/** One token for a sentence: quoted, its outer spaces dropped, a whole text of spaces as dots. */
export function quoted(id, fold, endWord) {
  const [unit] = units([id], fold.pieces, fold.header.stop_ids, endWord);
  if (unit.badge) return unit.text;
  return `“${unit.text.trim() || unit.text.replaceAll(' ', '·')}”`;
}

const code = (text) => `U+${text.codePointAt(0).toString(16).toUpperCase().padStart(4, '0')}`;
const hex2 = (byte) => byte.toString(16).toUpperCase().padStart(2, '0');
