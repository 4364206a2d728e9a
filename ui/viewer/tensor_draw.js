// From matrices and pixels to one Plotly figure per panel: an overview heatmap of all slots above a focus heatmap.
// Marks are line traces (tensor_marks.js). Numbers and labels lie over the plot as HTML (tensor_text.js,
// tensor_scale.js): as svg text they took two thirds of a step's time. Nothing here decides what a value is.

import { add, line, markLines, RING } from './tensor_marks.js';
import { paintOf } from './tensor_paint.js';

/** {data, layout} for Plotly. `kinds` = the kinds matrix of the same frame (marks of the other views).
 *  `scale`: the deviation at which the position colours saturate. */
export function figureOf({ frame, tensor, kinds, geometry, theme, scale }) {
  const paint = paintOf(tensor, kinds, theme, scale);
  const data = [];
  for (const [name, zone] of Object.entries(geometry.zones)) {
    const axes = name === 'over' ? { xaxis: 'x', yaxis: 'y' } : { xaxis: 'x2', yaxis: 'y2' };
    data.push({
      type: 'heatmap', name, ...axes, z: zone.lines.map((l) => seen(tensor.z[l], zone)), x0: zone.first, dx: 1, y0: 0, dy: 1, ...paint.heat,
      xgap: zone.cw > 7 ? 1 : zone.cw > 3.5 ? 0.5 : 0, ygap: zone.ch > 5 ? 1 : 0, showscale: false, hoverinfo: 'skip',
    });
    if (paint.under) data.splice(-1, 0, { ...data.at(-1), name: `${name} uncounted`, z: zone.lines.map((l) => seen(paint.under[l], zone)), ...paint.underHeat });
    const detailed = name === 'focus' || (zone.cw >= 3.4 && zone.ch >= 8);
    const corner = name === 'focus' && zone.text;
    const marks = detailed ? markLines(paint.marked, paint.marks, zone, { corner, share: corner ? 0.2 : 0.62, onDark: paint.isDark }) : {};
    const round = corner ? 3.2 : Math.min(4, zone.cw * 0.5);
    for (const [layer, lines] of Object.entries(marks)) {
      const width = layer.startsWith('dots') ? round : layer === 'faint' ? 1 : corner ? 1.3 : 1.1;
      const color = layer === 'faint' ? theme.hatch : layer.endsWith('Light') ? '#ffffff' : '#111111';
      if (lines.x.length) data.push(stroke(`${name} ${layer}`, lines, axes, color, width));
    }
    const frames = tensor.view === 'kinds' ? chosenBoxes(tensor, zone, geometry) : ['positions', 'gaps'].includes(tensor.view) ? gapBars(tensor, zone) : line();
    if (name === 'over' && tensor.view === 'move') arrows(frames, tensor, zone);
    if (name === 'over' && geometry.per > 1) data.push(stroke('over rows', rowLines(tensor.z, zone, geometry.per), axes, theme.frame, 1.6));
    if (frames.x.length) data.push(stroke(`${name} lines`, frames, axes, theme.ink, corner ? 1.8 : 1.3));
  }
  return { data, layout: layoutOf(geometry) };
}

/** A line's cells inside the zone. Plotly's clip must not be what hides the others: under a <base> its clip is named by
 *  the address that the page had when the plot was made, and the page changes its address. */
const seen = (line, { first, columns }) => line.slice(first, first + columns);

/** The token just chosen: an outlined cell, ringed where there is no text. */
function chosenBoxes(tensor, zone) {
  const out = line();
  for (const { row, slot } of tensor.chosen) {
    const n = zone.lines.indexOf(tensor.rows.indexOf(row));
    if (n < 0 || slot < zone.first || slot >= zone.first + zone.columns) continue;
    const [rx, ry] = [0.5 - 1 / zone.cw, 0.5 - 1.5 / zone.ch];
    add(out, [[[-1, -1], [1, -1], [1, 1], [-1, 1], [-1, -1]]], slot, n, rx, ry);
    if (!zone.text) {
      const r = Math.min(zone.cw, zone.ch) * 0.22;
      add(out, RING, slot, n, r / zone.cw, r / zone.ch);
    }
  }
  return out;
}

/** A bar at the left edge of each visible cell whose position is not one after its visible neighbour's. */
function gapBars(tensor, zone) {
  const out = line();
  for (const { row, slot } of tensor.gaps) {
    const n = zone.lines.indexOf(tensor.rows.indexOf(row));
    if (n >= 0 && slot >= zone.first && slot < zone.first + zone.columns) add(out, [[[0, -1], [0, 1]]], slot - 0.5, n, 1, 0.46);
  }
  return out;
}

/** For each copied run that shifts: arrows from its first, middle and last entry as fed to where they are now. */
function arrows(out, tensor, zone) {
  for (const [row, from, to, length] of tensor.runs) {
    const n = zone.lines.indexOf(tensor.rows.indexOf(row) * 2);
    if (from === to || n < 0) continue;
    for (const step of new Set([0, length >> 1, length - 1])) {
      const [x0, x1, y0, y1] = [from + step, to + step, n, n + 1];
      const [dx, dy] = [(x1 - x0) * zone.cw, zone.ch];
      const size = 5 / Math.hypot(dx, dy);
      const wing = (side) => [x1 - ((dx + side * dy * 0.6) * size) / zone.cw, y1 - ((dy - side * dx * 0.6) * size) / zone.ch];
      add(out, [[[x0, y0], [x1, y1]], [wing(1), [x1, y1], wing(-1)]], 0, 0, 1, 1);
    }
  }
}

/** Lines between the blocks of rows that have several lines each. */
function rowLines(z, zone, per) {
  const out = line();
  for (let n = per; n < zone.lines.length; n += per) {
    const width = Math.max(z[n - 1].length, z[n].length);
    add(out, [[[-0.5, n - 0.5], [width - 0.5, n - 0.5]]], 0, 0, 1, 1);
  }
  return out;
}

function stroke(name, { x, y }, axes, color, width) {
  return { type: 'scatter', mode: 'lines', name, ...axes, x, y, line: { color, width, simplify: false }, hoverinfo: 'skip', connectgaps: false };
}

function layoutOf(geometry) {
  const { zones, margin, width, height } = geometry;
  const out = {
    width, height, autosize: false, showlegend: false, dragmode: false, hovermode: false,
    margin: { l: margin.left, r: margin.right, t: 0, b: 0, pad: 0 },
    paper_bgcolor: 'rgba(0,0,0,0)', plot_bgcolor: 'rgba(0,0,0,0)',
  };
  const axis = { showgrid: false, zeroline: false, showline: false, fixedrange: true, ticks: '', showticklabels: false, automargin: false };
  for (const [name, zone] of Object.entries(zones)) {
    const id = name === 'over' ? '' : '2';
    out[`xaxis${id}`] = { ...axis, domain: [0, 1], anchor: `y${id}`, range: [zone.first - 0.5, zone.first + zone.columns - 0.5] };
    out[`yaxis${id}`] = {
      ...axis, domain: [1 - (zone.y + zone.h) / height, 1 - zone.y / height], anchor: `x${id}`, range: [zone.lines.length - 0.5, -0.5],
    };
  }
  return out;
}
