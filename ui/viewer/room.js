// Room for what comes later: the rows, the headline and the caption are as high as the highest that this trace can put
// there, so that playing, scrubbing and repairing move nothing below them. Each is drawn once where nobody sees it.

import { captionOf } from './caption.js';
import { drawClaim, gist } from './claim.js';
import { lastStep, siblingOf } from './clock.js';
import { drawCompareButtons } from './compare_button.js';
import { firstGap, firstViolation, firstWrong } from './gaps.js';
import { layout } from './layout.js';
import { drawLane, laneBlock } from './rows.js';
import { el } from './svg.js';

/** Reserves the heights at this state. A run that streams in has no end yet to be ready for. */
export function keepRoom(at, state, plan, act) {
  const { fold, right, version, row, alias, chapter, mayRepair, guessing } = state;
  const { phone } = plan.geo;
  const key = [at.board.clientWidth, at.stage.className, plan.rows, state.left, right, row, version, fold.status, state.source.name, alias, chapter, mayRepair, guessing, phone && state.step].join('|');
  if (keepRoom.fold === fold && at.board.dataset.room === key) return;
  keepRoom.fold = fold;
  at.board.dataset.room = key;
  const twin = siblingOf(right);
  const shown = fold.status === 'running' ? [] : [right, twin].filter((lane) => fold.lanes[lane]).map((lane) => ({ ...state, right: lane }));
  const told = chapter ? shown.flatMap((each) => [{ ...each, guessing: '' }, { ...each, guessing: 'chapter' }]) : shown;
  reserve(at.claim, told, (each) => drawClaim(at.claim, each, phone), state);
  reserve(at.gist, shown, (each) => { at.gist.textContent = gist(each); }, state);
  reserveLanes(at.board, shown, act);
  const [sentence, cell] = at.say.children;
  const now = [sentence.textContent, cell.textContent];
  const captions = (phone ? shown : shown.flatMap(telling)).map(captionOf);
  reserve(at.say, captions, (words) => [sentence.textContent, cell.textContent] = words, now);
}

/** Gives `node` the height of the highest of `variants`, and draws `now` again. */
function reserve(node, variants, draw, now) {
  node.style.minHeight = '';
  const heights = variants.map((each) => {
    draw(each);
    return heightOf(node);
  });
  draw(now);
  if (heights.length) node.style.minHeight = `${Math.max(...heights)}px`;
}

/** Every lane as high as it is at the end of the run, when all is said of it; the right one also as high as its twin. */
function reserveLanes(board, shown, act) {
  const sections = [...board.children].map((section) => ({ section, lanes: section.querySelectorAll('.r-lane') }));
  const trials = shown.flatMap((each) => {
    const state = { ...each, step: lastStep(each), hover: null, cell: null };
    const plan = layout(state, board.clientWidth);
    return sections.flatMap(({ section, lanes }) => plan.lanes.slice(0, lanes.length).map((name, n) => {
      const lane = laneBlock(state.fold, name, Number(section.dataset.row), n ? 'right' : 'left');
      const box = el('div', { 'aria-hidden': 'true', inert: true, style: 'visibility:hidden' }, lane);
      drawLane(lane, state, plan, Number(section.dataset.row), act);
      drawCompareButtons(box, state, () => {});
      section.append(box);
      return { box, lane, real: lanes[n] };
    }));
  });
  const room = new Map();
  for (const { real, lane } of trials) room.set(real, Math.max(room.get(real) ?? 0, heightOf(lane)));
  for (const { box } of trials) box.remove();
  for (const { lanes } of sections) for (const real of lanes) real.style.minHeight = room.has(real) ? `${room.get(real)}px` : '';
}

/** The rounds of which most is said: the first, the last, and where a row first tears, breaks or goes wrong. */
function telling(state) {
  const { fold, right } = state;
  const rows = fold.header.prompts.map(({ row }) => row);
  const found = rows.flatMap((row) => [firstGap, firstViolation, firstWrong].map((find) => ({ ...state, row, step: find(fold, right, row)?.step })));
  return [{ ...state, step: 0 }, { ...state, step: lastStep(state) }, state, ...found.filter(({ step }) => step !== undefined)];
}

/** In the page's own pixels, with their fraction, also where the presenter's mode enlarges them. */
const heightOf = (node) => parseFloat(getComputedStyle(node).height);
