// The frame around the panels: title, the view switch, the phone's disclosure, legends, tooltip. Built once.

import { el, place } from './tensor_dom.js';
import { createPanel } from './tensor_panel.js';
import { VIEWS } from './views.js';
import { say } from './tensor_words.js';

export const SIDES = ['left', 'right'];

/** Builds everything into `box`. `on`: {view(name), all(), door(), retry(), select, look, point} are the page's answers. */
export function buildChrome(box, on) {
  const ui = { blocks: {} };
  ui.switch = el('div', 'rg-tn-switch', { role: 'group', 'aria-label': say('choose') }, [
    ...VIEWS.map((view) => button(say(`view.${view}`), () => on.view(view), { 'data-view': view, 'aria-pressed': 'false' })),
    button(say('all'), on.all, { 'data-view': 'all', 'aria-pressed': 'false' }),
  ]);
  ui.door = button(say('open'), on.door, { 'aria-expanded': 'false' });
  ui.door.classList.add('rg-tn-door');
  ui.retry = button(say('retry'), on.retry, { hidden: '' });
  ui.status = el('p', 'rg-tn-status', { role: 'status' });
  ui.tip = el('div', 'rg-tn-tip', { hidden: '', 'aria-hidden': 'true' });
  ui.live = el('p', 'rg-tn-sr', { 'aria-live': 'polite' });
  const panelOn = { ...on, hover: (...args) => showTip(ui, ...args) };
  for (const view of VIEWS) ui.blocks[view] = buildBlock(view, panelOn);
  ui.title = el('h2', 'rg-tn-title', {}, [say('title')]);
  ui.root = el('section', 'rg-tn', { 'aria-label': say('title') }, [
    el('div', 'rg-tn-bar', {}, [ui.title, ui.door, ui.switch]), el('div', 'rg-tn-note', {}, [ui.status, ui.retry]),
    el('div', 'rg-tn-body', {}, VIEWS.map((view) => ui.blocks[view].root)),
    ui.tip, ui.live, el('p', 'rg-tn-sr', { id: 'rg-tn-keys' }, [say('keys')]),
  ]);
  box.replaceChildren(ui.root);
  return ui;
}

function buildBlock(view, on) {
  const legend = el('ul', 'rg-tn-legend');
  const panels = Object.fromEntries(SIDES.map((side) => [side, Object.assign(createPanel(view, on), { side })]));
  const pair = el('div', 'rg-tn-pair', {}, SIDES.map((side) => panels[side].root));
  const why = el('p', 'rg-tn-why', {}, [el('b', '', {}, [say(`view.${view}`)]), ` ${say(`why.${view}`)}`]);
  return { view, legend, panels, root: el('div', 'rg-tn-block', { hidden: '' }, [why, legend, pair]) };
}

function button(label, press, attributes) {
  const node = el('button', 'rg-tn-button', { type: 'button', ...attributes }, [label]);
  node.addEventListener('click', press);
  return node;
}

/** Which buttons are pressed and which blocks are shown. */
export function showChrome(ui, { open, views, all }) {
  ui.root.classList.toggle('is-all', all);
  ui.door.setAttribute('aria-expanded', String(open));
  ui.door.textContent = say(open ? 'close' : 'open');
  ui.switch.hidden = !open;
  for (const node of ui.switch.children) {
    const { view } = node.dataset;
    node.setAttribute('aria-pressed', String(all ? view === 'all' : views.includes(view)));
  }
  for (const block of Object.values(ui.blocks)) block.root.hidden = !open || !views.includes(block.view);
}

/** The tooltip by the cell at `box` (px in the panel); for the keyboard its words also go to the live region. */
function showTip(ui, panel, box, pairs = [], spoken = false) {
  ui.tip.hidden = !box;
  if (!box) return;
  ui.tip.replaceChildren(...pairs.map(([term, words]) => el('div', '', {}, [el('span', '', {}, [term]), el('b', '', {}, [words])])));
  if (spoken) ui.live.textContent = pairs.map(([term, words]) => `${term} ${words}`).join('; ');
  const [host, wrap] = [ui.root.getBoundingClientRect(), panel.wrap.getBoundingClientRect()];
  const [x, y] = [wrap.left - host.left + box.x, wrap.top - host.top + box.y];
  const [w, h] = [ui.tip.offsetWidth, ui.tip.offsetHeight];
  const below = y + box.h + 8;
  const fits = host.top + below + h < window.innerHeight;
  place(ui.tip, { x: Math.max(4, Math.min(x + box.w / 2 - w / 2, host.width - w - 4)), y: fits ? below : y - h - 8 });
}
