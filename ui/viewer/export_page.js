// The stage as one HTML file: styles, modules, traces and facts inside it. Modules become data: addresses behind an
// import map, because a file on disk may import nothing else; a strict policy keeps the network out.

import { t } from './strings.js';

const IMPORT = /(\bfrom\s*|\bimport\s*\(\s*|\bimport\s+)(['"])\.\/([\w.-]+\.js)\2/g;

/** Modules that are imported when they are needed. */
const LATER = ['main.js', 'tools.js', 'lessons.js', 'markdown.js', 'inspection.js'];

/** The page's text. `page`: the facts of this page; `link`: the view as a query; `traces`: name -> text, the first is
 *  what opens; `source`: where that one is from; `tensors`: with the tensor views and Plotly. */
export async function exportPage({ page, link, traces, source, tensors }) {
  const base = new URL(page.viewer, document.baseURI);
  const modules = await modulesOf(base, [...LATER, ...(tensors ? ['tensors.js'] : [])]);
  const styles = await Promise.all([...document.querySelectorAll('link[rel=stylesheet]')].filter(({ href }) => href.startsWith(base.href)).map(({ href }) => text(href)));
  const imports = {};
  for (const [name, code] of modules) imports[`ragged/${name}`] = await dataUrl(code.replace(IMPORT, '$1$2ragged/$3$2'));
  const facts = {
    saved: true, tensors, link, source, title: page.title, faults: page.faults, writer: page.writer,
    traces: Object.keys(traces).map((name) => ({ name })),
  };
  const nonce = [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  const script = (attributes, body) => `<script nonce="${nonce}" ${attributes}>${body}</script>`;
  const plotly = tensors ? script('', (await text(new URL(page.plotly, document.baseURI))).replaceAll('</script', '<\\/script')) : '';
  return [
    '<!doctype html>', `<html lang="${t('language')}"><head><meta charset="utf-8">`, '<meta name="viewport" content="width=device-width, initial-scale=1">',
    `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'nonce-${nonce}' data:; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'">`,
    '<title>Ragged</title><link rel="icon" href="data:,">', `<style>${styles.join('\n')}</style>`,
    ...Object.entries(traces).map(([name, body]) => `<script type="application/x-ndjson" data-trace="${escaped(name)}">${inert(body)}</script>`),
    `<script type="application/json" id="ragged-page">${inert(JSON.stringify(facts))}</script>`,
    script('type="importmap"', inert(JSON.stringify({ imports }))), script('type="module"', "import 'ragged/main.js';"),
    `</head><body>${plotly}</body></html>`,
  ].join('\n');
}

/** The modules that these import, and theirs: [name, code]. */
async function modulesOf(base, entries) {
  const found = new Map(entries.map((name) => [name, null]));
  for (const [name] of found) { // grows meanwhile
    const code = await text(new URL(name, base));
    found.set(name, code);
    for (const [, how, , other] of code.matchAll(IMPORT)) if (!how.includes('(') && !found.has(other)) found.set(other, null);
  }
  return found;
}

async function text(address) {
  const answer = await fetch(address);
  if (!answer.ok) throw new Error(`${address}: ${answer.status}`);
  return answer.text();
}

function dataUrl(code) {
  return new Promise((done, failed) => {
    const reader = new FileReader();
    reader.onload = () => done(reader.result);
    reader.onerror = () => failed(reader.error);
    reader.readAsDataURL(new Blob([code], { type: 'text/javascript' }));
  });
}

/** JSON that cannot end its script element: `<` occurs in JSON only inside strings, where this is its escape. */
const inert = (json) => json.replaceAll('<', '\\u003c');

const escaped = (name) => name.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');
