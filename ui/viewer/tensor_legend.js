// The legend shared by both panels of a view: HTML, because a colour bar would shift the axes.

import { KIND, MOVE } from './tensor_data.js';
import { OWNER } from './tensor_layers.js';
import { SEEN_PAD } from './tensor_marks.js';
import { el } from './tensor_dom.js';
import { say } from './tensor_words.js';

const ORDER = ['prompt', 'kept', 'refed', 'accepted', 'cut', 'pending', 'rejected', 'filler', 'hole', 'pad'];
const RARE = ['pending', 'cut']; // shown when they occur

/** Legend entries of a view. `present`: the kinds that occur now, and SEEN_PAD; `scale`: where the position colours end. */
export function legendOf(view, scale, present = new Set()) {
  if (view === 'kinds') {
    const names = Object.keys(KIND).filter((name) => !RARE.includes(name) || present.has(KIND[name]));
    return [...ORDER.filter((name) => names.includes(name)), 'chosen'].map((name) => entry(name, say(`kind.${name}`)));
  }
  if (view === 'move') return Object.keys(MOVE).reverse().map((name) => entry(name, say(`fate.${name}`)));
  if (view === 'owners') return Object.keys(OWNER).reverse().map((name) => entry(name, say(`owns.${name}`)));
  if (view === 'mask') {
    const swatches = { seen: 'seen', unseen: 'unseen', hole: 'unseen is-hole', pad: 'unseen is-pad' };
    if (present.has(SEEN_PAD)) swatches.seenPad = 'seen is-seenpad';
    return Object.entries(swatches).map(([name, look]) => entry(look, say(`sees.${name}`)));
  }
  const strip = el('li', 'rg-tn-strip', {}, [`${say(view === 'gaps' ? 'by' : 'off')} −${scale}`, el('i', '', { 'aria-hidden': 'true' }), `+${scale}`]);
  const others = ['hole', 'filler', 'pad'].map((name) => entry(name === 'pad' ? 'pad' : `zero is-${name}`, say(`kind.${name}`)));
  if (view === 'gaps') return [strip, entry('gap', say('gapBar')), ...['hole', 'pad'].map((name) => entry(name, say(`kind.${name}`)))];
  return [strip, entry('gap', say('gapBar')), ...others];
}

function entry(name, words) {
  return el('li', '', {}, [el('i', `rg-tn-swatch is-${name}`, { 'aria-hidden': 'true' }), words]);
}
