// Drop a trace: a file of any engine, read and checked in this browser. What is found is told first, then the trace is
// on the stage like a recorded one. Nothing is sent anywhere; a link names the file's digest and asks for the file.

import { inspect } from './inspection.js';
import { drawReport } from './drop_report.js';
import { placeOf } from './place.js';
import { copyText } from './copy.js';
import { el } from './svg.js';
import { t } from './strings.js';

const MAX_BYTES = 64 << 20;

/** `act` = {show(result, link), violation(lane, first)}; `page.writer`: the writer's code, where the page has it.
 *  Returns {open(), ask(link), close(), kept(name)}. */
export function mountDrop(at, store, page, act) {
  const title = el('h2', { tabindex: -1, id: 'r-drop-title' }, t('drop.title'));
  const input = el('input', { type: 'file', id: 'r-drop-file', class: 'r-file', accept: '.jsonl,.ndjson,.json,.txt' });
  const zone = el('div', { class: 'r-zone' }, el('p', {}, t('drop.zone'), ' ', el('label', { for: 'r-drop-file' }, input, el('span', {}, t('drop.choose')))), el('p', { class: 'r-note' }, t('drop.stays')));
  const said = el('p', { class: 'r-dropsaid', role: 'status' });
  const report = el('div', { class: 'r-report' });
  const close = el('button', { type: 'button', class: 'r-tool', 'aria-label': t('close'), title: t('close'), onclick: () => shut() }, '×');
  const node = el('section', { id: 'ragged-drop', class: 'r-panel', hidden: true, 'aria-labelledby': 'r-drop-title' },
    el('header', { class: 'r-phead' }, title, close), el('div', { class: 'r-dropgrid' }, zone, writer(page)), said, report);
  at.line.after(node);

  const results = new Map(); // by name in addresses
  let wanted = null; // the link that asks for a file
  let turn = 0;

  input.addEventListener('change', () => {
    if (input.files[0]) read(input.files[0]);
    input.value = ''; // the same file again is a change, too
  });
  for (const type of ['dragover', 'drop']) window.addEventListener(type, carried);
  window.addEventListener('dragleave', (event) => { if (!event.relatedTarget) zone.classList.remove('over'); });

  function carried(event) {
    if (!event.dataTransfer?.types.includes('Files') || event.target.closest?.('gradio-app [data-testid*=upload]')) return;
    event.preventDefault(); // else the browser leaves the page for the file
    zone.classList.toggle('over', event.type === 'dragover');
    if (node.hidden) node.hidden = false;
    if (event.type === 'drop' && event.dataTransfer.files[0]) read(event.dataTransfer.files[0]);
  }

  async function read(file) {
    const mine = ++turn;
    report.replaceChildren();
    if (file.size > MAX_BYTES) return tell(t('drop.large', { name: file.name, size: Math.ceil(file.size / 2 ** 20), most: MAX_BYTES >> 20 }), true);
    tell(t('drop.reading', { name: file.name, percent: 0 }));
    let result;
    try {
      const bytes = await file.arrayBuffer().catch(() => { throw new Error(t('drop.unreadable')); });
      const progress = (share) => { if (mine === turn) tell(t('drop.reading', { name: file.name, percent: Math.floor(100 * share) })); };
      const text = decode(bytes);
      result = { ...await inspect(text, progress), text, file: file.name, digest: await digest(bytes) };
    } catch (error) {
      return mine === turn && tell(t('drop.refused', { name: file.name, why: error.message }), true);
    }
    if (mine !== turn) return null;
    result.name = `file:${result.digest}:${file.name}`;
    results.set(result.name, result);
    const same = wanted && wanted.trace.split(':')[1] === result.digest;
    tell([wanted && !same && t('drop.other'), !result.drawn && t('drop.tooMany'), result.cut && t('drop.cut')].filter(Boolean).join(' '));
    draw(result);
    if (result.drawn && result.lanes.some((lane) => lane.steps)) act.show(result, same ? wanted : firstPlace(result));
    if (same) wanted = null;
    title.focus({ preventScroll: true });
    return report.scrollIntoView({ block: 'nearest' });
  }

  function draw(result) {
    drawReport(report, result, { ...act, space: page.space, store });
  }

  function tell(text, bad = false) {
    said.textContent = text;
    said.classList.toggle('bad', bad);
  }

  function open() {
    node.hidden = false;
    title.focus({ preventScroll: true });
    node.scrollIntoView({ block: 'nearest' });
  }

  function shut() {
    const inside = node.contains(document.activeElement);
    node.hidden = true;
    if (inside) at.board.parentElement.focus({ preventScroll: true });
  }

  return {
    open: () => (node.hidden ? open() : shut()),
    close: shut,
    /** The result of a file that was dropped before, by its name in addresses. */
    kept(name) {
      const result = results.get(name);
      if (result) draw(result);
      return result;
    },
    /** A link into a file that this browser has not got. */
    ask(link) {
      wanted = link;
      const name = link.trace.split(':').slice(2).join(':');
      tell(t('drop.asked', { name, step: link.step ?? 0 }));
      report.replaceChildren();
      open();
    },
  };
}

/** Where a result is shown first: at its first violation, else at the beginning. */
function firstPlace(result) {
  const broken = result.lanes.find((lane) => lane.first);
  const [step, row, cell] = broken ? placeOf(result, broken) : [0];
  return { step, row, cell, right: broken?.lane };
}

/** The code that writes such a file, with a button that copies it; nothing where the page has none. */
function writer(page) {
  if (typeof page.writer !== 'string' || !page.writer.trim()) return null;
  const said = el('span', { class: 'r-note', role: 'status' });
  const copy = el('button', { type: 'button', class: 'r-text', onclick: () => copyText(page.writer, said, t('drop.copied')) }, t('drop.copy'));
  return el('details', { class: 'r-writer' }, el('summary', {}, t('drop.writer')), el('p', { class: 'r-note' }, t('drop.writerNote'), ' ', copy, ' ', said), el('pre', { tabindex: 0 }, el('code', {}, page.writer)),
    el('p', { class: 'r-note' }, t('drop.writerCall')), el('dl', { class: 'r-fields' }, ...t('drop.writerFields').flatMap(([name, what]) => [el('dt', {}, el('code', {}, name)), el('dd', {}, what)])));
}

function decode(bytes) {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new Error(t('drop.notText'));
  }
}

/** The first digits of the SHA-256; without it (a page that is not served securely) the size. */
async function digest(bytes) {
  if (!crypto.subtle) return `${bytes.byteLength}b`;
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
  return [...hash.slice(0, 6)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
