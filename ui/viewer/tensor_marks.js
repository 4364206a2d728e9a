// The marks that say a cell's meaning without colour, as line segments around the cell's centre.
// All marks of a subplot become ONE line trace with gaps: 400 svg markers would cost more than the whole heatmap.
//
//   rejected X    hole .    pad /    filler -    re-fed o    cut -/-    not judged <>    dropped X    dead .

import { KIND, MOVE } from './tensor_data.js';
import { OWNER } from './tensor_layers.js';

const CROSS = [[[-1, -1], [1, 1]], [[-1, 1], [1, -1]]];
const SLASH = [[[-1, 1], [1, -1]]];
const DASH = [[[-1, 0], [1, 0]]];
const DOT = [[[-0.02, 0], [0.02, 0]]];
const DIAMOND = [[[-1, 0], [0, -1], [1, 0], [0, 1], [-1, 0]]];
const RING = [Array.from({ length: 13 }, (_, n) => [Math.cos((n * Math.PI) / 6), Math.sin((n * Math.PI) / 6)])];

/** code -> [layer, strokes]; a layer is one trace with its own colour and width. */
export const KIND_MARKS = {
  [KIND.pad]: ['faint', SLASH], [KIND.rejected]: ['ink', CROSS], [KIND.hole]: ['dots', DOT], [KIND.filler]: ['ink', DASH],
  [KIND.refed]: ['ink', RING], [KIND.pending]: ['ink', DIAMOND], [KIND.cut]: ['ink', SLASH.concat(DASH)],
};
export const OWNER_MARKS = { [OWNER.pad]: ['faint', SLASH], [OWNER.hole]: ['dots', DOT], [OWNER.rejected]: ['ink', CROSS], [OWNER.dropped]: ['ink', CROSS] };
export const SEEN_PAD = 'seen pad'; // in the mask view: a pad that a query may attend to
export const MASK_MARKS = { [KIND.pad]: KIND_MARKS[KIND.pad], [KIND.hole]: KIND_MARKS[KIND.hole], [SEEN_PAD]: ['ink', CROSS] };
export const MOVE_MARKS = { [MOVE.pad]: ['faint', SLASH], [MOVE.dropped]: ['ink', CROSS], [MOVE.dead]: ['dots', DOT] };

/** Segments of all marked cells of a zone: {ink, dots, inkLight, dotsLight, faint} with x and y for a line trace.
 *  `onDark(line, slot)`: the cell's fill is dark, so that its mark must be light.
 *  `radius` in px is kept round: a cell is cw px wide and ch px tall and one unit in both axes. */
export function markLines(z, marks, zone, { share, corner, onDark }) {
  const out = { faint: line(), ink: line(), dots: line(), inkLight: line(), dotsLight: line() };
  const r = Math.max(1.5, Math.min(zone.cw, zone.ch) * 0.5 * share);
  zone.lines.forEach((index, n) => {
    const row = z[index];
    const end = Math.min(row?.length ?? 0, zone.first + zone.columns);
    for (let slot = zone.first; slot < end; slot += 1) {
      const mark = marks[row[slot]];
      if (!mark) continue;
      // with text in the cell, a mark sits in its upper right corner
      const [cx, cy] = corner && mark[0] !== 'faint' ? [slot + 0.5 - (r + 2.5) / zone.cw, n - 0.5 + (r + 2.5) / zone.ch] : [slot, n];
      const layer = mark[0] !== 'faint' && onDark(index, slot) ? `${mark[0]}Light` : mark[0];
      add(out[layer], mark[1], cx, cy, r / zone.cw, r / zone.ch);
    }
  });
  return out;
}

/** Adds strokes (lists of points in units of the radius) around (cx, cy). */
export function add(target, strokes, cx, cy, rx, ry) {
  for (const stroke of strokes) {
    for (const [dx, dy] of stroke) {
      target.x.push(cx + dx * rx);
      target.y.push(cy + dy * ry);
    }
    target.x.push(null);
    target.y.push(null);
  }
}

/** An empty line trace's coordinates. */
export function line() {
  return { x: [], y: [] };
}
export { RING };
