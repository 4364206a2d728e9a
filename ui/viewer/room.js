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
  const key = [plan.width, at.stage.className, plan.rows, state.left, right, row, version, fold.status, state.source.name, alias, chapter, mayRepair, guessing, phone && state.step].join('|');
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
  const captions = distinct((phone ? shown : shown.flatMap(telling)).map(captionOf));
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

/** Every lane as high as it is at the end of the run, when all is said of it; the right one also as high as its twin. A
 *  chapter may ask which rows differ: there all rows are alike, and a lane that stands alone is like any other one. */
function reserveLanes(board, shown, act) {
  const sections = [...board.children].map((section) => ({ section, row: Number(section.dataset.row), lanes: section.querySelectorAll('.r-lane') }));
  const inChapter = Boolean(shown[0]?.chapter);
  const count = sections[0]?.lanes.length;
  const variants = inChapter && count === 1 ? Object.keys(shown[0].fold.lanes).map((name) => ({ ...shown[0], left: name, right: name })) : shown;
  const place = (row, n) => (inChapter ? n : `${row}/${n}`);
  const trials = variants.flatMap((each) => {
    const state = { ...each, step: lastStep(each), hover: null, cell: null, guessing: '', ...(inChapter ? { sole: false, allRows: true } : {}) };
    const plan = layout(state, board.clientWidth);
    const rows = inChapter ? plan.rows : sections.map(({ row }) => row);
    return rows.flatMap((row) => plan.lanes.slice(0, count).map((name, n) => {
      const lane = laneBlock(state.fold, name, row, n ? 'right' : 'left');
      const box = el('div', { 'aria-hidden': 'true', inert: true, style: 'visibility:hidden' }, lane);
      drawLane(lane, state, plan, row, act);
      drawCompareButtons(box, state, () => {});
      sections[0].section.append(box);
      return { box, lane, at: place(row, n) };
    }));
  });
  const room = new Map();
  for (const { at, lane } of trials) room.set(at, Math.max(room.get(at) ?? 0, heightOf(lane)));
  for (const { box } of trials) box.remove();
  for (const { row, lanes } of sections) lanes.forEach((lane, n) => { lane.style.minHeight = room.has(place(row, n)) ? `${room.get(place(row, n))}px` : ''; });
}

const distinct = (all) => [...new Map(all.map((each) => [JSON.stringify(each), each])).values()];

/** The rounds of which most is said: the first, the last, and where a row first tears, breaks or goes wrong. */
function telling(state) {
  const { fold, right } = state;
  const rows = fold.header.prompts.map(({ row }) => row);
  const found = rows.flatMap((row) => [firstGap, firstViolation, firstWrong].map((find) => ({ ...state, row, step: find(fold, right, row)?.step })));
  return [{ ...state, step: 0 }, { ...state, step: lastStep(state) }, state, ...found.filter(({ step }) => step !== undefined)];
}

/** In the page's own pixels, with their fraction, also where the presenter's mode enlarges them. */
const heightOf = (node) => parseFloat(getComputedStyle(node).height);
