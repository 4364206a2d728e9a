// How much room a chapter's steps need at this width: each is drawn once where nobody sees it, with the longest answer
// that it can give and the way round it. The rows below then stay where they are while steps and answers come and go.

import { el } from './svg.js';
import { drawStep, skippedOf } from './lesson_step.js';
import { say } from './lesson_strings.js';

const UNSEEN = { store: { subscribe: () => () => {} }, board: { addEventListener() {}, removeEventListener() {} }, show() {}, changed() {} };

/** The height in pixels of the tallest of `steps` beside `place`, whose width it takes; `first`: the chapter's bet. */
export function tallest(place, steps, first) {
  const box = el('div', { class: 'r-step', 'aria-hidden': 'true', inert: true, style: `position:absolute;visibility:hidden;width:${place.clientWidth}px` });
  place.after(box);
  const heights = steps.flatMap((step) => ends(step, first).map((record) => {
    drawStep(box, step, record, { step: first, record: {} }, UNSEEN).end();
    return box.offsetHeight;
  }));
  box.remove();
  return Math.max(...heights);
}

/** How a step may stand at its highest: after a wrong try, and a question also with its answer and why. */
function ends(step, first) {
  const tried = { said: longest(step, first), tries: 1 };
  if (step.kind !== 'check') return [tried];
  return [tried, ...[`${say('right')} ${step.right}`, skippedOf(step)].map((said) => ({ said, solved: true }))];
}

/** The longest text that a step can say: of a question why an answer is wrong, of something to
 *  do what was done and what became of the bet. */
function longest(step, first) {
  const of = (asked, before) => asked.options.map(({ value, text }) => [before?.(text), say('wrong'), value === asked.answer ? asked.right : asked.miss(value)].filter(Boolean).join(' '));
  const bet = (text) => say('bet', { bet: text });
  const said = step.kind === 'predict' ? ['']
    : step.kind === 'check' ? (step.options ? of(step) : [''])
      : of(first, bet).map((text) => [step.truthAt !== 'entry' && step.done, step.truth, text].filter(Boolean).join(' '));
  return said.sort((a, b) => b.length - a.length)[0];
}
