// Copies text. Frames may forbid the clipboard: then the text stands in a field, ready to be copied by hand.

import { el } from './svg.js';
import { t } from './strings.js';

/** Copies `text`; says so in `status`, in the words `said`. */
export async function copyText(text, status, said) {
  try {
    await navigator.clipboard.writeText(text);
    status.textContent = said;
  } catch {
    const field = text.includes('\n') ? el('textarea', { readonly: true, rows: 6 }) : el('input', { readonly: true });
    field.value = text;
    field.setAttribute('aria-label', t('copyBy'));
    status.replaceChildren(t('copyBy'), ' ', field);
    field.select();
  }
}
