// One step of a chapter: predict (a bet, judged later), act (something to do on the stage), check (a question, which then
// says why).
// A wrong answer names the misconception; after one wrong try a step can be skipped.

import { el } from './svg.js';
import { say } from './lesson_strings.js';
import { withTerms } from './lesson_terms.js';

/** Draws `step` into `box`. A question says why its answer is right: `step.right`. `record` = {solved, tries, value, said} outlives the drawing. `bet` = the chapter's
 *  predict step and its record. `hooks` = {store, board, show(patch), changed()}. Returns {end, focus}. */
export function drawStep(box, step, record, bet, hooks) {
  const ask = el('p', { class: 'r-ask', tabindex: -1 }, step.ask);
  const tools = el('div', { class: 'r-options' });
  const feed = el('p', { class: 'r-feed', role: 'status' });
  const skip = el('button', { type: 'button', class: 'r-text r-skip', onclick: skipIt }, say('skip'));
  const why = step.why?.() ?? '';
  box.replaceChildren(ask, tools, feed, why);
  if (step.rules) ask.after(...step.rules.map((rule) => el('p', { class: 'r-note' }, rule)));
  if (step.note) ask.after(el('p', { class: 'r-note' }, ...withTerms(step.note)));
  const api = { solve, miss, clear, show: hooks.show };
  for (const { value, text } of step.options ?? []) {
    tools.append(el('button', { type: 'button', 'aria-pressed': 'false', 'data-value': String(value), onclick: () => choose(value) }, text));
  }
  const widget = step.mount?.(tools, api);
  tools.append(skip);
  const stops = [];
  if (step.watch) stops.push(hooks.store.subscribe((state, changed) => { if (!record.solved) step.watch(state, changed, api); }));
  if (step.click) {
    const listen = (event) => { if (!record.solved) step.click(event, api); };
    hooks.board.addEventListener('click', listen);
    stops.push(() => hooks.board.removeEventListener('click', listen));
  }
  if (!record.solved && !record.tries) record.said = opening();
  if (record.solved) widget?.show();
  show();

  /** What an exercise begins with: what became of the bet, or where that would tell too much, the bet as it was made. */
  function opening() {
    if (step.kind !== 'act') return '';
    if (step.truthAt === 'entry') return judged();
    return bet.record.value === undefined ? '' : say('bet', { bet: textOf(bet.step, bet.record.value) });
  }

  /** What became of the bet. */
  function judged() {
    if (bet.record.value === undefined) return step.truth ?? '';
    const right = bet.record.value === bet.step.answer;
    if (right) return `${say('betRight')} ${bet.step.right}`; // the truth is what was bet
    return [say('betWrong', { bet: textOf(bet.step, bet.record.value) }), step.truth, bet.step.miss(bet.record.value)].filter(Boolean).join(' ');
  }

  function choose(value) {
    if (step.kind === 'predict') {
      Object.assign(record, { value, solved: true });
      return done();
    }
    if (record.solved) return null;
    record.value = value;
    return value === step.answer ? solve() : miss(step.miss(value));
  }

  function solve(said = step.done, patch = step.reveal) {
    if (record.solved) return;
    const verdict = step.kind === 'check' ? `${say('right')} ${step.right}` : step.truthAt === 'entry' ? '' : judged();
    Object.assign(record, { solved: true, wrong: false, value: step.kind === 'check' ? step.answer : record.value, said: [said, verdict].filter(Boolean).join(' ') });
    if (patch) hooks.show(patch);
    done();
  }

  /** A wrong try, or a finding on the way that is not the answer yet. */
  function miss(why, verdict = 'wrong') {
    if (record.solved) return;
    Object.assign(record, { tries: (record.tries ?? 0) + 1, wrong: verdict === 'wrong', said: `${say(verdict)} ${why}` });
    show();
  }

  /** What was said of a wrong try no longer fits what is shown. */
  function clear() {
    if (!record.wrong || record.solved) return;
    Object.assign(record, { wrong: false, said: opening() });
    show();
  }

  function skipIt() {
    const said = step.kind === 'check' ? skippedOf(step) : [step.done, step.truthAt === 'entry' ? '' : judged()].filter(Boolean).join(' ');
    Object.assign(record, { solved: true, wrong: false, value: step.answer, said });
    widget?.show();
    if (step.reveal) hooks.show(step.reveal);
    done();
  }

  function done() {
    show();
    hooks.changed();
  }

  function show() {
    feed.textContent = record.said ?? '';
    if (why) why.hidden = !record.solved;
    feed.classList.toggle('wrong', Boolean(record.wrong));
    feed.classList.toggle('right', step.kind === 'check' && Boolean(record.solved));
    skip.hidden = step.kind === 'predict' || !record.tries || Boolean(record.solved);
    for (const button of tools.querySelectorAll(':scope > [data-value]')) {
      const mine = button.dataset.value === String(record.value);
      button.setAttribute('aria-pressed', String(mine));
      button.classList.toggle('wrong', mine && Boolean(record.wrong));
    }
  }

  return { end: () => stops.forEach((stop) => stop()), focus: () => ask.focus({ preventScroll: true }) };
}

const textOf = (step, value) => step.options.find((option) => option.value === value)?.text ?? '';

/** What is said of a question that was skipped. Where several things were judged, they show the answer themselves. */
export const skippedOf = (step) => [step.options && say('skipped', { answer: answerOf(step) }), step.right].filter(Boolean).join(' ');

/** The right answer in words. */
export const answerOf = (step) => step.key?.() ?? textOf(step, step.answer);
