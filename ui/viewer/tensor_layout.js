// Where every cell of one panel lies, in pixels: a pure function of the view, the shared axis and the panel's width.
// Both panels get the same input but the focus window, so axes, margins and cell sizes are equal.
//
//   +--------------------------------------+
//   | overview: all slots, no text         | shift
//   +--------------------------------------+
//     0        16       32      [====]         ticks; [==] is the focus window
//   +--------------------------------------+
//   | focus: <= 200 cells with text        |
//   +--------------------------------------+

const MAX_TEXT_CELLS = 200;
const MIN_TEXT_CELL = 16; // px: a narrower cell gets no text
const CELL = 33; // px: the width of a focus cell that fits five characters
const MARGIN = { left: 50, right: 58, top: 17, bottom: 20, between: 30 };

/** Slots that both panels span: the widest forward of either lane, plus the column of the token without KV. */
export function spanOf(lanes) {
  const widths = lanes.flatMap((lane) => lane.frames.map((frame) => Math.max(frame.width, frame.width_after)));
  return Math.max(8, ...widths) + 1;
}

/** Lines of the overview and of the focus for `view`. `line`s are indices into z; a focus shows one row's queries
 *  (mask), the `after` lines (move), or as many rows as its cells allow. */
function linesOf(view, axis, row, columns) {
  const at = Math.max(0, axis.rows.indexOf(row));
  if (view === 'mask') {
    const q = axis.queries;
    const all = Array.from({ length: axis.rows.length * q }, (_, n) => n);
    const shown = q === 1 ? all : all.slice(at * q, at * q + q);
    return { all, per: q, focus: shown.slice(0, Math.max(1, Math.floor(MAX_TEXT_CELLS / columns))) };
  }
  const per = view === 'move' ? 2 : 1;
  const fit = Math.max(1, Math.floor(MAX_TEXT_CELLS / columns));
  const first = Math.max(0, Math.min(at - (fit >> 1), axis.rows.length - fit));
  return {
    per,
    all: Array.from({ length: axis.rows.length * per }, (_, n) => n),
    focus: axis.rows.slice(first, first + fit).map((_, n) => (first + n) * per + per - 1),
  };
}

/** `width` px -> {zones: {over, focus}, height}. A zone: px box, slots [first, first + columns), lines top to bottom. */
export function layoutPanel({ view, axis, width, span, focus, row }) {
  const inner = Math.max(80, width - MARGIN.left - MARGIN.right);
  const columns = Math.min(span, Math.max(8, Math.min(24, Math.floor(inner / CELL))));
  const lines = linesOf(view, axis, row, columns);
  const dense = lines.all.length;
  const tall = dense <= 4 ? 17 : dense <= 8 ? 13 : dense <= 18 ? 9 : dense <= 48 ? 6 : 4;
  const first = Math.max(0, Math.min(focus - Math.ceil(columns / 2), span - columns));
  const over = zone(0, span, lines.all, MARGIN.top, inner, tall);
  const near = zone(first, columns, lines.focus, over.y + over.h + MARGIN.between, inner, view === 'mask' && lines.focus.length > 4 ? 19 : 28);
  near.text = near.cw >= MIN_TEXT_CELL;
  return { view, axis, width, span, per: lines.per, margin: MARGIN, zones: { over, focus: near }, height: near.y + near.h + MARGIN.bottom };
}

function zone(first, columns, lines, y, inner, ch) {
  return { first, columns, lines, x: MARGIN.left, y, w: inner, h: lines.length * ch, cw: inner / columns, ch };
}

/** The cell under a point of the plot: {zone, line, slot}, or null. */
export function cellAt(layout, px, py) {
  for (const [name, z] of Object.entries(layout.zones)) {
    const [column, line] = [Math.floor((px - z.x) / z.cw), Math.floor((py - z.y) / z.ch)];
    if (column >= 0 && column < z.columns && line >= 0 && line < z.lines.length) {
      return { zone: name, line: z.lines[line], slot: z.first + column };
    }
  }
  return null;
}

/** The px box of a cell in a zone (`count` lines tall), or null when it is outside. */
export function boxOf(layout, name, line, slot, count = 1) {
  const z = layout.zones[name];
  const shown = z.lines.map((l, n) => (l >= line && l < line + count ? n : -1)).filter((n) => n >= 0);
  if (!shown.length || slot < z.first || slot >= z.first + z.columns) return null;
  return { x: z.x + (slot - z.first) * z.cw, y: z.y + shown[0] * z.ch, w: z.cw, h: shown.length * z.ch };
}

/** The batch row that a line belongs to. */
export function rowOfLine(layout, line) {
  return layout.axis.rows[Math.floor(line / layout.per)];
}

/** Where the focus window looks when nothing is selected: so that the row's newest columns are at its right end. */
export function tailOf(view, frame, columns) {
  const width = view === 'move' ? Math.max(frame.width, frame.width_after) : frame.width;
  return width + 1 - Math.floor(columns / 2);
}
