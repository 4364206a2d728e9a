// How a view's values become fills, and which code matrix its marks follow.

import { KIND } from './tensor_data.js';
import { KIND_MARKS, MASK_MARKS, MOVE_MARKS, OWNER_MARKS, SEEN_PAD } from './tensor_marks.js';
import { codeScale, gapColor, gapScale, isDark } from './tensor_theme.js';

const KINDS = Object.keys(KIND);
const pick = (...kinds) => Object.fromEntries(kinds.map((kind) => [kind, KIND_MARKS[kind]]));

/** {heat: colours of the heatmap, marks, marked: the codes that the marks follow, fill(line, slot), isDark(line, slot)}.
 *  Positions have no value where a slot belongs to no token: `under` and `underHeat` show what is there instead. */
export function paintOf(tensor, kinds, theme, scale) {
  const paint = { kinds: codes, move: codes, owners: codes, positions, gaps: positions, mask }[tensor.view](tensor, kinds, theme, scale);
  const known = new Map(); // dark or not, per value: there are few
  const fill = (l, slot) => {
    const value = tensor.z[l][slot];
    return value === null ? theme[KINDS[kinds.z[l][slot]]] : paint.color(value);
  };
  const dark = (l, slot) => {
    const color = fill(l, slot);
    if (!known.has(color)) known.set(color, isDark(color));
    return known.get(color);
  };
  return { ...paint, fill, isDark: dark };
}

function codes(tensor, kinds, theme) {
  const names = Object.keys(tensor.codes);
  return {
    heat: { colorscale: codeScale(tensor.codes, theme), zmin: -0.5, zmax: names.length - 0.5 },
    marks: { kinds: KIND_MARKS, move: MOVE_MARKS, owners: OWNER_MARKS }[tensor.view],
    marked: tensor.z,
    color: (code) => theme[names[code]],
  };
}

function positions(tensor, kinds, theme, scale) {
  return {
    heat: { colorscale: gapScale(scale, theme), zmin: -scale, zmax: scale },
    marks: pick(KIND.pad, KIND.hole, KIND.filler),
    marked: kinds.z,
    color: (off) => gapColor(off, scale, theme),
    under: tensor.z.map((line, n) => line.map((v, slot) => (v === null ? kinds.z[n][slot] : null))),
    underHeat: { colorscale: codeScale(KIND, theme), zmin: -0.5, zmax: KINDS.length - 0.5 },
  };
}

/** Zeros are marked with their reason, where it is a pad or a hole; the others lie in the query's future. A pad that is
 *  seen is crossed. */
function mask(tensor, kinds, theme) {
  const codesOf = ({ row }) => kinds.z[tensor.rows.indexOf(row)];
  return {
    heat: { colorscale: [[0, theme.unseen], [0.5, theme.unseen], [0.5, theme.seen], [1, theme.seen]], zmin: 0, zmax: 1 },
    marks: MASK_MARKS,
    marked: tensor.lines.map((line, n) => tensor.z[n].map((seen, slot) => (seen === 0 ? codesOf(line)[slot] : seen === 1 && tensor.padSeen[line.row]?.has(slot) ? SEEN_PAD : null))),
    color: (seen) => (seen ? theme.seen : theme.unseen),
  };
}
