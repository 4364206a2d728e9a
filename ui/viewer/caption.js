// The round's sentence, and the line about the cell under the pointer or pinned. What is shown is not live; a hidden
// live region says the same once on pause and on every step by hand, and is silent while playing.

import { narrate } from './narrate.js';
import { births, ribbonOf } from './gaps.js';
import { quoted } from './pieces.js';
import { el } from './svg.js';
import { t, laneLong } from './strings.js';
import { write } from './unchanged.js';

export function mountCaption(node, live, store) {
  const sentence = el('p', { class: 'r-sentence' });
  const cell = el('p', { class: 'r-cellline' });
  node.append(sentence, cell);
  let spoken = '';
  store.subscribe((state, changed) => {
    if (!state.fold) return;
    const [text, facts] = captionOf(state);
    write(sentence, text);
    write(cell, facts);
    if (state.playing || state.live || !state.touched) return;
    const pinned = changed.has('cell') && state.cell ? cell.textContent : text;
    if (pinned !== spoken) live.textContent = spoken = pinned;
  });
}

/** Both lines: the round's sentence, and the cell's or what else is to say. */
export function captionOf(state) {
  const text = state.guessing ? t('sayHidden', state) : narrate(state);
  return [text, describe(state) ?? (stopRepaired(state) && !state.chapter ? t('stopNote') : '')]; // in the chapters it would answer one
}

/** True when the broken lane lacks the published missing stop rule: then its positions are the only defect. */
function stopRepaired({ fold, right }) {
  const config = fold.header.lanes.find((spec) => spec.lane === right)?.config;
  return config?.method === 'bsp' && config.faults?.length > 0 && !config.faults.includes('no_stop');
}

/** The cell under the pointer or pinned, in one line of facts. */
export function describe(state) {
  const at = state.hover ?? state.cell;
  const ribbon = at && ribbonOf(state.fold, at.lane, at.row, state.step);
  const token = ribbon?.tokens.find((found) => found.index === at.index);
  if (!token) return null;
  const values = {
    lane: laneLong(at.lane), row: at.row + 1, id: token.id, slot: token.slot, position: token.position,
    word: quoted(token.id, state.fold, t('endToken')),
    expected: ribbon.origin - ribbon.prompt + token.index,
  };
  if (token.index < ribbon.prompt) return t('cellPrompt', { ...values, n: token.index + 1 });
  const n = token.index - ribbon.prompt;
  return t(!token.fed ? 'cellNew' : token.next ? 'cellNext' : 'cell', { ...values, n: n + 1, born: births(state.fold.lanes[at.lane], at.row)[n], kind: t(`tokenKind.${token.kind}`) });
}
