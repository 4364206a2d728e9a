// state -> rectangles. A pure function: no DOM, no measuring. Units are pixels of one ribbon's own drawing.
//
//   [prompt · 31][0][1][2] +3 [6][7]      chip, cells, a tear with its dead slots below the number
//                          x x x
//
// A ribbon longer than its window shows its end; the chip then says from which position on.

import { ribbonOf } from './gaps.js';
import { onlyOne, shownRows } from './clock.js';

export const BAND = 20; //   height of the ribbon itself
export const FALL = 9; //    below it: drafts that this round dropped
const MARK = 8; //           height of a dead slot's mark inside a tear
const WIDE = { label: 136, verdict: 220, cell: 14, least: 8 };

/** The page's geometry at a width: the label column, the ribbon window, the largest and smallest cell. */
export function geometry(width) {
  if (width < 640) return { phone: true, label: 0, verdict: 0, chip: 0, cell: 11, least: 11, window: width };
  const slim = width < 1200;
  const { label, verdict } = slim ? { ...WIDE, verdict: 188 } : WIDE;
  const chip = 74; // the prompt chip lives in the label column, against the first cell
  return { phone: false, label: label - chip, verdict, chip, cell: WIDE.cell, least: slim ? 7 : WIDE.least, window: width - label - verdict };
}

/** Everything to draw at this state and width. */
export function layout(state, width) {
  const geo = geometry(width);
  const rows = geo.phone || onlyOne(state) ? [state.row] : shownRows(state);
  const lanes = [...new Set([state.left, state.right])];
  const cell = cellSize(state, geo);
  const columns = Math.floor(geo.window / cell);
  const first = state.unfolded ? -longestPrompt(state.fold) : 0; // rows share one ruler, prompts end at 0
  const ribbons = {};
  for (const row of rows) {
    for (const lane of lanes) {
      ribbons[`${lane}/${row}`] = place(ribbonOf(state.fold, lane, row, state.step), { geo, cell, columns, first });
    }
  }
  return { width, geo, rows, lanes, cell, columns, ribbons, ruler: ruler(ribbons, geo, cell, columns) };
}

/** One cell size for the whole trace, so that nothing is rescaled while it plays: the largest at which all fits. */
function cellSize(state, geo) {
  const key = `${state.version}/${geo.window}/${state.unfolded}`;
  const memo = cellSize.memo?.fold === state.fold ? cellSize.memo : (cellSize.memo = { fold: state.fold, sizes: {} });
  return (memo.sizes[key] ??= Math.min(geo.cell, Math.max(geo.least, Math.floor(geo.window / extent(state)))));
}

/** Columns that the longest ribbon of any lane needs. */
function extent(state) {
  let most = 1;
  for (const lane of Object.keys(state.fold?.lanes ?? {})) {
    for (const { row } of state.fold.header.prompts) {
      const end = ribbonOf(state.fold, lane, row, Infinity);
      if (end) most = Math.max(most, end.tail + 1);
    }
  }
  return most + (state.unfolded ? longestPrompt(state.fold) : 0);
}

function longestPrompt(fold) {
  return Math.max(0, ...(fold?.header?.prompts ?? []).map((p) => p.ids.length));
}

/** One ribbon's rectangles, or null when the lane has nothing of the row yet. */
function place(ribbon, { geo, cell, columns, first }) {
  if (!ribbon) return null;
  const x0 = Math.max(first, ribbon.tail + 1 - columns);
  const left = (x) => geo.chip + (x - x0) * cell;
  const inside = (item) => item.x >= x0 && item.x < x0 + columns;
  const torn = new Map(ribbon.gaps.map((gap) => [gap.before, gap]));
  const after = new Map(ribbon.gaps.map((gap) => [gap.after, gap]));
  return {
    ...ribbon, x0, height: BAND + FALL, width: geo.chip + columns * cell, cell,
    chip: chipOf(ribbon, geo, x0, first),
    cells: ribbon.tokens.filter(inside).map((token) => ({
      ...token, left: left(token.x), top: 0, width: cell, height: BAND,
      tornLeft: torn.has(token.index), tornRight: after.has(token.index),
    })),
    tears: ribbon.gaps.filter((gap) => gap.x + gap.size > x0).map((gap) => tear(gap, left, cell, geo)),
    seams: ribbon.seams.filter(inside).map((seam) => ({ ...seam, left: left(seam.x), top: BAND, height: FALL })),
    fallen: ribbon.fallen.filter(inside).map((drop) => ({ ...drop, left: left(drop.x), top: BAND + 1, width: cell, height: MARK })),
  };
}

/** A tear: an open place with its size above and the dead slots that hold it open below. */
function tear(gap, left, cell, geo) {
  const start = Math.max(geo.chip, left(gap.x));
  const end = Math.max(start, left(gap.x + gap.size));
  const marks = gap.dead.slice(0, Math.max(0, gap.size)).map((dead, n) => ({
    ...dead, left: left(gap.x + n), top: BAND - MARK, width: cell, height: MARK,
  })).filter((mark) => mark.left >= start);
  return { ...gap, left: start, width: end - start, top: 0, height: BAND, marks };
}

/** What stands left of the first cell: the folded prompt, or from which position on a long ribbon is shown. */
function chipOf(ribbon, geo, x0, first) {
  if (x0 > first) return { kind: 'from', x: x0, left: 0, width: geo.chip, height: BAND };
  if (first < 0) return null;
  const torn = ribbon.gaps.some((gap) => gap.after === ribbon.prompt - 1);
  return { kind: 'prompt', n: ribbon.prompt, left: 0, width: geo.chip, height: BAND, torn };
}

/** Ticks every ten positions, where all ribbons start at the same one. */
function ruler(ribbons, geo, cell, columns) {
  const starts = new Set(Object.values(ribbons).filter(Boolean).map((r) => r.x0));
  if (starts.size > 1) return null;
  const x0 = [...starts][0] ?? 0;
  const ticks = [];
  for (let x = Math.ceil(x0 / 10) * 10; x < x0 + columns; x += 10) ticks.push({ x, left: geo.chip + (x - x0) * cell });
  return { ticks, width: geo.chip + columns * cell };
}
