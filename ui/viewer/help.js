// The list of keys, in a dialog.

import { el } from './svg.js';
import { t } from './strings.js';

/** Returns the function that opens the list. */
export function mountHelp(stage) {
  const list = el('dl', {}, ...t('keys').flatMap(([key, does]) => [el('dt', {}, el('kbd', {}, key)), el('dd', {}, does)]));
  const dialog = el('dialog', { class: 'r-help', 'aria-label': t('help') },
    el('h2', {}, t('help')), list, el('h2', {}, t('words')), el('dl', { class: 'words' }, ...t('terms').flatMap(([name, means]) => [el('dt', {}, name), el('dd', {}, means)])), el('button', { type: 'button', class: 'r-text', onclick: () => dialog.close() }, t('close')));
  dialog.addEventListener('click', (event) => { if (event.target === dialog) dialog.close(); });
  stage.append(dialog);
  return () => dialog.showModal();
}
