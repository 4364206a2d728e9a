// Colours of the tensor views, read from the CSS variables of tensors.css, so that themes live in one place.

import { KIND, MOVE } from './tensor_data.js';

const NAMES = [
  'paper', 'ink', 'muted', 'edge', 'frame', 'axis', 'hatch', 'minus', 'zero', 'plus', 'seen', 'unseen',
  ...Object.keys(KIND), ...Object.keys(MOVE),
];

/** {name: "#rrggbb"} as they apply to `el` now; `glow`: how much of its colour a position that is one off has. */
export function readTheme(el) {
  const style = getComputedStyle(el);
  const value = (name) => style.getPropertyValue(`--rg-tn-${name}`).trim();
  const colors = Object.fromEntries(NAMES.map((name) => [name, value(name) || '#888888']));
  return { ...colors, glow: Number(value('glow')) || 0.5 };
}

/** A stepped colour scale for codes 0..n-1, for zmin -0.5 and zmax n-0.5. */
export function codeScale(codes, theme) {
  const names = Object.keys(codes);
  return names.flatMap((name, n) => [[n / names.length, theme[name]], [(n + 1) / names.length, theme[name]]]);
}

/** Diverging scale for zmin -m, zmax m: 0 is neutral, and one off is already plainly coloured. */
export function gapScale(m, theme) {
  const half = 0.5 / (2 * m); // half a unit, as a share of the whole scale
  const from = (end) => mix(theme.zero, end, theme.glow);
  return [
    [0, theme.minus], [0.5 - half, from(theme.minus)], [0.5 - half, theme.zero],
    [0.5 + half, theme.zero], [0.5 + half, from(theme.plus)], [1, theme.plus],
  ];
}

/** The colour that gapScale gives to `value`. */
export function gapColor(value, m, theme) {
  if (!value) return theme.zero;
  const share = Math.min(1, Math.max(0, (Math.abs(value) - 0.5) / (m - 0.5)));
  return mix(theme.zero, value > 0 ? theme.plus : theme.minus, theme.glow + (1 - theme.glow) * share);
}

/** Dark or light text, whichever reads better on `fill`. */
export function inkOn(fill) {
  return isDark(fill) ? '#ffffff' : '#111111';
}

export function isDark(fill) {
  return luminance(fill) <= 0.19;
}

export function mix(a, b, share) {
  const [p, q] = [rgb(a), rgb(b)];
  return `#${p.map((v, n) => Math.round(v + (q[n] - v) * share).toString(16).padStart(2, '0')).join('')}`;
}

function luminance(hex) {
  const [r, g, b] = rgb(hex).map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function rgb(hex) {
  return [1, 3, 5].map((n) => parseInt(hex.slice(n, n + 2), 16));
}
