// The dialog that saves the view, or the open chapter, as one file.

import { exportPage } from './export_page.js';
import { queryOf } from './link.js';
import { el } from './svg.js';
import { t } from './strings.js';

/** `source.textOf(name)`: a recorded trace, or the open one; `page`: the page's facts. Returns {open()}. */
export function mountExport(at, store, source, page) {
  const about = el('p', {});
  const tensors = el('input', { type: 'checkbox' });
  const said = el('p', { role: 'status', class: 'r-note' });
  const save = el('button', { type: 'button', class: 'r-do', onclick: run }, t('export.save'));
  const dialog = el('dialog', { class: 'r-help r-export', 'aria-label': t('export.title') }, el('h2', {}, t('export.title')), about,
    el('label', { class: 'r-option', hidden: !page.plotly }, tensors, t('export.tensors')), said,
    el('p', {}, save, ' ', el('button', { type: 'button', class: 'r-text', onclick: () => dialog.close() }, t('close'))));
  dialog.addEventListener('click', (event) => { if (event.target === dialog) dialog.close(); });
  at.stage.append(dialog);

  async function run() {
    [save.disabled, said.textContent] = [true, t('export.working')];
    try {
      const html = await build(tensors.checked);
      const { chapter, step } = store.get();
      const name = chapter ? `ragged-chapter-${chapter}.html` : `ragged-round-${step}.html`;
      const link = el('a', { href: URL.createObjectURL(new Blob([html], { type: 'text/html' })), download: name });
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
      said.textContent = t('export.saved', { name, size: Math.ceil(html.length / 1000) });
    } catch (error) {
      said.textContent = t('export.failed', { why: error.message });
    }
    save.disabled = false;
  }

  /** The file's text. With the page's own run come those that chapters are about. */
  async function build(withTensors) {
    const state = store.get();
    const { kind, title, name: own } = state.chapter ? { kind: 'recorded', name: 'hero' } : state.source;
    const name = kind === 'live' ? `run:${own}` : own;
    const traces = { [name]: await source.textOf(state.chapter ? 'hero' : null) };
    if (name === 'hero') for (const other of (page.traces ?? []).map((trace) => trace.name ?? trace)) traces[other] ??= await source.textOf(other);
    return exportPage({ page, traces, source: { kind: kind === 'file' ? kind : 'recorded', name, title }, tensors: withTensors, link: queryOf(state, '') });
  }

  return {
    build,
    open() {
      const { chapter } = store.get();
      about.textContent = chapter ? t('export.aboutChapter', { n: chapter }) : t('export.about');
      said.textContent = '';
      dialog.showModal();
    },
  };
}
