// The text of one row of one lane: HTML, one span per word piece, linked to the ribbon's cells by data-index.
// All of a recorded text is laid out from the start and shown piece by piece, so that nothing jumps while it plays.

import { births, firstWrong } from './gaps.js';
import { units } from './pieces.js';
import { el } from './svg.js';
import { t, laneLong } from './strings.js';

const looks = new WeakMap(); // line -> for each word when it is born, of which kind it is, and how it looks now

/** Builds the line. `drawWords` then shows it at a step. */
export function buildWords(fold, lane, row) {
  const state = fold.lanes[lane].rows[row];
  const wrong = firstWrong(fold, lane, row);
  const stop = fold.header.stop_ids;
  const line = el('div', { class: 'r-words', role: 'listbox', 'aria-label': t('output', { lane: laneLong(lane), row: row + 1 }), dir: 'auto' });
  const born = births(fold.lanes[lane], row);
  const words = [];
  for (const unit of units(state.ids.slice(state.prompt), fold.pieces, stop, t('endToken'))) {
    const last = unit.indices.at(-1);
    const word = el('span', {
      class: `r-word${unit.badge ? ' badge' : ''}`, role: 'option', tabindex: -1, 'aria-selected': 'false',
      'data-index': state.prompt + unit.indices[0], 'data-last': state.prompt + last, 'data-born': born[last],
    }, unit.text);
    if (wrong && unit.indices.includes(wrong.generated)) ringed(word, unit, wrong, fold);
    else if (wrong && unit.indices[0] > wrong.generated) word.classList.add('later');
    line.append(word);
    words.push({ word, born: born[last], last, look: '' });
  }
  looks.set(line, words);
  return line;
}

/** The first wrong word: ringed, with the word of the row alone above it. */
function ringed(word, unit, wrong, fold) {
  const expected = units([wrong.expected], fold.pieces, fold.header.stop_ids, t('endToken'))[0].text.trim();
  const space = /^\s*/.exec(unit.text)[0]; // the ring is around the word, not around the space before it
  word.classList.add('wrong', wrong.verdict);
  word.replaceChildren(space, el('span', { class: 'ring' }, unit.text.slice(space.length) || '␣', el('span', { class: 'instead' }, t('instead', { word: expected }))));
}

/** Shows the words emitted up to `step`; those of this round are marked new. */
export function drawWords(line, fold, lane, row, step) {
  const state = fold.lanes[lane].rows[row];
  let tabbable = null;
  for (const each of looks.get(line)) {
    const look = each.born > step ? 'future' : each.born < step ? '' : state.kinds[each.last] === 'a' ? 'new' : 'target';
    if (look !== 'future') tabbable ??= each.word;
    if (look === each.look) continue;
    if (each.look) each.word.classList.remove(each.look);
    if (look) each.word.classList.add(look);
    each.look = look;
  }
  const kept = line.querySelector('.r-word.cursor:not(.future)') ?? tabbable;
  for (const word of line.querySelectorAll('[tabindex="0"]')) if (word !== kept) word.tabIndex = -1;
  if (kept && kept.tabIndex) kept.tabIndex = 0; // one stop for the Tab key per line
}
