// Draws one ribbon from its layout. Form carries the meaning, colour only repeats it: a tear is open, with torn edges
// and a number; a rejected draft is crossed; a pad is a dot; a new token has a bar; the target's own token a ring.

import { keepParts } from './parts.js';
import { svg } from './svg.js';
import { BAND } from './layout.js';
import { t, laneLong } from './strings.js';

const ROOM = 16; // px that a gap's sign and number take: in a gap of one cell they are smaller

/** The SVG of a placed ribbon; `old`: the one of another step, whose parts stay where they are the same. Cells and words
 *  carry the same data-index; hovering links them. */
export function drawRibbon(ribbon, old) {
  const { width, height, x0, cell } = ribbon;
  const root = old ?? svg('svg', { class: 'r-ribbon', role: 'img' }, svg('g'), svg('g'));
  const [before, behind] = root.children;
  const shift = x0 * cell; // a ribbon that follows its end moves as a whole
  put(root, { width, height, viewBox: `0 0 ${width} ${height}`, 'aria-label': describe(ribbon) });
  put(behind, { transform: `translate(${-shift} 0)` });
  keepParts(before, ribbon.chip ? [{ draw: chip, part: ribbon.chip }] : []);
  keepParts(behind, partsOf(ribbon, shift));
  return root;
}

/** What a ribbon is made of, with what each part needs to be drawn. */
function partsOf({ tears, cells, seams, fallen, step }, shift) {
  const moved = (part) => ({ ...part, left: part.left + shift });
  const at = (fresh) => (fresh ? step : ''); // what is fresh comes in anew at its own step
  return [
    ...tears.map((tear) => ({ draw: drawTear, part: { ...moved(tear), marks: tear.marks.map(moved) }, of: at(tear.dead.some((dead) => dead.fresh)) })),
    ...cells.map((each) => {
      const { index, next, left, top, width, height, tornLeft, tornRight } = moved(each);
      return { draw: drawCell, part: { index, kind: cellClass(each), next, left, top, width, height, tornLeft, tornRight }, of: at(each.fresh) };
    }),
    ...seams.map((seam) => ({ draw: drawSeam, part: moved(seam) })),
    ...fallen.map((drop) => ({ draw: drawFallen, part: moved(drop), of: at(true) })),
  ];
}

const drawFallen = (drop) => mark(drop, 'rejected', true);

function put(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) if (node.getAttribute(name) !== String(value)) node.setAttribute(name, value);
}

/** One sentence for those who do not see the ribbon. */
function describe(ribbon) {
  const sizes = ribbon.gaps.map((gap) => (gap.size > 0 ? t('gapSize', { n: gap.size }) : t('gapBack', { n: -gap.size })));
  const gaps = sizes.length ? t('someGaps', { sizes: sizes.join(', ') }) : t('noGaps');
  const tokens = ribbon.tokens.length - ribbon.prompt;
  return t('ribbon', { lane: laneLong(ribbon.lane), row: ribbon.row + 1, tokens, gaps });
}

/** kept, new, target (the token that the target itself chose this round), prompt. */
export function cellClass(token) {
  if (token.kind === 'prompt') return 'prompt';
  if (!token.fresh) return 'kept';
  return token.kind === 'accepted' ? 'new' : 'target';
}

function drawCell(cell) {
  const { kind, left, top, width, height, tornLeft, tornRight } = cell;
  const group = svg('g', { class: `r-cell ${kind}${cell.next ? ' unfed' : ''}`, 'data-index': cell.index });
  group.append(svg('path', { class: 'face', d: outline(left + 0.5, top + 0.5, width, height - 1, tornLeft, tornRight) }));
  if (kind === 'new') group.append(svg('path', { class: 'bar', d: `M${left + 2} ${top + height - 3.5}h${width - 3}` }));
  if (kind === 'target') group.append(svg('circle', { class: 'ring', cx: left + width / 2 + 0.5, cy: top + height / 2, r: Math.min(4, width / 2 - 1.5) }));
  return group;
}

/** A cell's edge: straight where its neighbour touches, torn like paper where a gap begins. */
function outline(x, y, w, h, tornLeft, tornRight) {
  const bite = Math.min(3, w / 3);
  const steps = 4;
  let d = `M${x} ${y}H${x + w}`;
  if (tornRight) for (let n = 1; n <= steps; n += 1) d += `L${x + w - (n % 2 ? bite : 0)} ${y + (h * n) / steps}`;
  d += `L${x + w} ${y + h}H${x}`;
  if (tornLeft) for (let n = steps - 1; n >= 1; n -= 1) d += `L${x + (n % 2 ? bite : 0)} ${y + (h * n) / steps}`;
  return `${d}Z`;
}

function drawTear(tear) {
  const back = tear.size < 0;
  const label = back ? t('gapBack', { n: -tear.size }) : t('gapSize', { n: tear.size });
  const fresh = tear.dead.some((dead) => dead.fresh);
  const group = svg('g', { class: `r-tear${fresh ? ' fresh' : ''}${tear.width < ROOM ? ' slim' : ''}`, 'data-before': tear.before });
  group.append(svg('rect', { class: 'void', x: tear.left, y: 0, width: Math.max(tear.width, 1), height: BAND }));
  tear.marks.forEach((m) => group.append(mark(m, m.kind, m.fresh)));
  group.append(svg('text', { x: tear.left + tear.width / 2 + 0.5, y: tear.marks.length ? 10 : 14, 'text-anchor': 'middle' }, label));
  const pads = tear.dead.filter((dead) => dead.kind === 'pad').length;
  group.append(svg('title', {}, t('tearHint', { n: tear.size, pads, rejected: tear.dead.length - pads })));
  return group;
}

/** A dead slot: a rejected draft is a crossed box, a pad or filler a dot. */
function mark({ left, top, width, height }, kind, fresh) {
  if (kind === 'pad') {
    return svg('circle', { class: 'r-pad', cx: left + width / 2 + 0.5, cy: top + height / 2, r: 1.6 });
  }
  const inset = Math.max(0.5, (width - 10) / 2);
  const [x, y, w, h] = [left + inset + 0.5, top + 0.5, width - 2 * inset, height - 1.5];
  const group = svg('g', { class: `r-dead${fresh ? ' fresh' : ''}` });
  group.append(svg('rect', { x, y, width: w, height: h }), svg('path', { d: `M${x} ${y}l${w} ${h}m0 ${-h}l${-w} ${h}` }));
  return group;
}

/** A hole in memory under a whole ribbon: the slots are dead, the positions do not show it. */
function drawSeam({ left, top, dead }) {
  const x = left + 0.5;
  const group = svg('g', { class: 'r-seam' });
  group.append(svg('path', { d: `M${x} ${top}v3m-3 0h6v5h-6zl6 5m0 -5l-6 5` }), svg('title', {}, t('seamHint', { n: dead.length })));
  return group;
}

function chip({ kind, n, x, width, height, torn }) {
  const group = svg('g', { class: `r-chip ${kind}` });
  if (width) {
    group.append(svg('path', { class: 'face', d: outline(0.5, 0.5, width, height - 1, false, torn) }));
    group.append(svg('text', { x: width / 2, y: height / 2 + 4, 'text-anchor': 'middle' }, kind === 'from' ? t('from', { x }) : t('prompt', { n })));
  }
  return group;
}
