// What stands around and under a plot, as HTML: slot numbers below, row names left, one number per row right, the
// focus window, and the ground of the cells.

import { rowName } from './strings.js';
import { gutterOf } from './tensor_describe.js';
import { el, place } from './tensor_dom.js';
import { boxOf } from './tensor_layout.js';
import { say } from './tensor_words.js';

/** All labels of one panel as elements at their px places. */
export function scaleOf({ geometry, frame, lane, tensor }) {
  const { over, focus } = geometry.zones;
  const out = [place(el('span', 'rg-tn-gutter is-head', {}, [say(`gutter.${tensor.view}`)]), { x: over.x + over.w + 6, y: 1 })];
  const texts = gutterOf(tensor, frame, lane);
  for (const [name, zone] of Object.entries(geometry.zones)) {
    out.push(...slotTicks(zone), ...rowTicks(tensor, zone, name, geometry.per));
    tensor.rows.forEach((row, n) => {
      const box = texts[row] && boxOf(geometry, name, n * geometry.per, zone.first, geometry.per);
      if (box) out.push(place(el('span', 'rg-tn-gutter', {}, [texts[row]]), { x: zone.x + zone.w + 6, y: box.y, h: box.h }));
    });
  }
  out.push(place(el('i', 'rg-tn-window'), { x: over.x + focus.first * over.cw, y: over.y - 2, w: focus.columns * over.cw, h: over.h + 4 }));
  return out;
}

/** What lies under a plot: the hairlines between cells are this ground showing through their gaps.
 *  One box per block of equally wide lines. (As Plotly shapes they cost as much as the heatmap.) */
export function groundOf({ geometry, tensor }) {
  const out = [];
  for (const zone of Object.values(geometry.zones)) {
    const boxes = [];
    zone.lines.forEach((l, n) => {
      const width = tensor.z[l].some((v) => v !== null) ? Math.min(tensor.z[l].length - zone.first, zone.columns) : 0;
      if (boxes.at(-1)?.width === width) boxes.at(-1).count += 1;
      else boxes.push({ width, n, count: 1 });
    });
    for (const { width, n, count } of boxes.filter((box) => box.width > 0)) {
      out.push(place(el('i', 'rg-tn-ground'), { x: zone.x, y: zone.y + n * zone.ch, w: width * zone.cw, h: count * zone.ch }));
    }
  }
  return out;
}

/** Slot numbers, as many as fit. */
function slotTicks(zone) {
  const every = [1, 2, 4, 8, 16, 32, 64, 128].find((d) => d * zone.cw >= 27) ?? 256;
  const slots = Array.from({ length: zone.columns }, (_, n) => zone.first + n).filter((slot) => slot % every === 0);
  const y = zone.y + zone.h + 2;
  return slots.map((slot) => place(el('span', 'rg-tn-tick', {}, [String(slot)]), { x: zone.x + (slot - zone.first + 0.5) * zone.cw, y }));
}

/** One label per line; for a mask's overview one per row, beside its block. Rows count from 1, as everywhere. */
function rowTicks(tensor, zone, name, per) {
  const label = (row) => rowName(row).toLowerCase();
  const out = [];
  const put = (text, n, lines = 1) => {
    const box = { x: 0, y: zone.y + n * zone.ch, w: zone.x - 4, h: lines * zone.ch };
    out.push(place(el('span', 'rg-tn-row', {}, [text]), box));
  };
  zone.lines.forEach((l, n) => {
    const row = tensor.rows[Math.floor(l / per)];
    const whole = per === 1 || (name === 'focus' && tensor.view === 'move');
    if (whole) put(label(row), n);
    else if (name === 'focus') put(say('lineQuery', { n: row + 1, q: tensor.lines[l].query }), n);
    else if (tensor.view === 'move' && zone.ch >= 11) put(say((tensor.ahead ? ['lineFound', 'lineRead'] : ['lineFed', 'lineAfter'])[l % 2], { n: row + 1 }), n);
    else if (l % per === 0) put(label(row), n, per);
  });
  return out;
}
