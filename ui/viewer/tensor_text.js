// The text of the focus window's cells: tokens, position ids, mask bits or source slots. At most 200 cells.

import { at, KIND } from './tensor_data.js';
import { shortPiece } from './tensor_describe.js';
import { el, place } from './tensor_dom.js';
import { paintOf } from './tensor_paint.js';
import { signed } from './tensor_words.js';

const COLUMN = 6.1; // px of one monospaced column at the size of tensors.css

/** One element per cell that has something to say; none where cells are too narrow. */
export function textOf({ fold, frame, tensor, kinds, geometry, theme, scale }) {
  const zone = geometry.zones.focus;
  if (!zone.text) return [];
  const paint = paintOf(tensor, kinds, theme, scale);
  const room = Math.floor((zone.cw - 2) / COLUMN);
  const out = [];
  const put = (slot, n, text, tone) => out.push(place(el('span', `rg-tn-text ${tone}`, {}, [String(text)]), {
    x: zone.x + (slot - zone.first) * zone.cw, y: zone.y + n * zone.ch + 1, w: zone.cw, h: zone.ch,
  }));
  zone.lines.forEach((l, n) => {
    const last = Math.min(tensor.z[l].length, zone.first + zone.columns);
    for (let slot = zone.first; slot < last; slot += 1) {
      const text = wordOf({ fold, frame, tensor, kinds, geometry, l, slot, room });
      if (text !== null) put(slot, n, text, paint.isDark(l, slot) ? 'is-light' : 'is-dark');
    }
    const chosen = tensor.chosen?.find((c) => c.row === tensor.rows[l]);
    if (chosen && chosen.slot >= zone.first && chosen.slot < zone.first + zone.columns) {
      put(chosen.slot, n, shortPiece(fold, chosen.id, room), 'is-ink');
    }
  });
  return out;
}

/** What a cell says, or null. */
function wordOf({ fold, frame, tensor, kinds, geometry, l, slot, room }) {
  const [n, value] = [Math.floor(l / geometry.per), tensor.z[l][slot]];
  const m = at(frame.fed, tensor.rows[n]);
  if (!m) return null;
  if (tensor.view === 'mask') return value;
  if (tensor.view === 'move') return tensor.origin[n][slot] >= 0 ? tensor.origin[n][slot] : null;
  if (tensor.view === 'gaps') return value ? signed(value) : null;
  if (tensor.view === 'owners') return m.owner[slot] >= 0 ? m.owner[slot] : null;
  if (tensor.view === 'positions') return kinds.z[n][slot] === KIND.pad ? null : m.position[slot];
  return m.owner[slot] >= 0 ? shortPiece(fold, m.token[slot], room) : null;
}
