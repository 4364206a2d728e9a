// A comparison as Markdown, for a bug report: what was run, and per row both texts, the first violated invariant, the
// first different token and its logits. Token text stands in code, whose fences are longer than any in it.

import { alignRow } from './align.js';
import { rowOrder } from './clock.js';
import { countEqual, verdictOf } from './verdict.js';
import { t, laneLong } from './strings.js';

const SETTINGS = ['proposer', 'k', 'max_new', 'batch', 'window', 'sampling', 'temperature', 'seed', 'chat'];

/** The right lane of a state, row by row. `url`: a link to the view. */
export function markdownOf(state, url) {
  const { fold, right: lane, left } = state;
  const { equal, rows } = countEqual(fold, lane);
  const parts = [`### ${plain(t('markdown.title', { lane: laneLong(lane), equal, rows }))}`, facts(state, url)];
  for (const row of rowOrder(fold)) parts.push(...rowParts(fold, lane, row, left));
  return `${parts.join('\n\n')}\n`;
}

function facts({ fold, source, right }, url) {
  const { models, dtype, device, versions, created } = fold.header;
  const { method, faults = [], ...config } = fold.lanes[right].config;
  const list = (values) => Object.entries(values).map(([name, value]) => `${name} ${value}`).join(', ');
  const set = Object.fromEntries(SETTINGS.filter((name) => config[name] !== null && config[name] !== undefined).map((name) => [name, config[name]]));
  return [
    t('markdown.trace', { name: source.title ?? source.name, date: created }), t('markdown.model', { model: models?.target?.name ?? '', dtype, device }),
    t('markdown.versions', { list: list(versions ?? {}) }), t('markdown.method', { method, faults: faults.join(', ') || t('markdown.none'), rest: list(set) }),
  ].map((line) => `- ${plain(line)}`).concat(`- ${t('markdown.link', { url: `<${url.replaceAll('<', '%3C').replaceAll('>', '%3E')}>` })}`).join('\n');
}

function rowParts(fold, lane, row, left) {
  const plan = alignRow(fold, lane, row, left);
  const prompt = fold.header.prompts.find((p) => p.row === row);
  const ids = (side) => plan.pairs.map((pair) => pair[side]).filter((id) => id !== undefined && id !== null && id >= 0);
  const known = plan.reference ? '' : ` (${t('markdown.unknown')})`;
  const out = [
    `#### ${plain(t('markdown.row', { row: row + 1, verdict: verdictOf(fold, lane, row).text }))}`,
    block(t('markdown.prompt', { n: prompt.ids.length }), prompt.text), block(t('markdown.alone') + known, textOf(fold, ids('expected'))), block(laneLong(lane), textOf(fold, ids('actual'))),
  ];
  const { violation: v, wrong: w } = plan;
  const facts = [v ? t('markdown.violation', v) : t('markdown.noViolation')];
  if (w) {
    const name = (id) => (id === null ? t('noToken') : id < 0 ? t('markdown.ended') : `${span(textOf(fold, [id]))} (${id})`);
    const { logits, noise } = fold.lanes[lane].rows[row].compare;
    facts.push({ code: t('markdown.wrong', { n: w.generated + 1, step: w.step, expected: name(w.expected), actual: name(w.actual) }) });
    const [[a, b], [c, d]] = [logits?.reference ?? [], logits?.lane ?? []];
    if (logits) facts.push(t('markdown.logits', { lane: laneLong(lane), a, b, c, d }));
    if (noise !== null) facts.push(t('markdown.noise', { noise }));
  }
  return [...out, facts.map((fact) => `- ${fact.code ?? plain(fact)}`).join('\n')];
}

/** The text of tokens; byte fragments are joined to the characters that they spell. */
function textOf(fold, ids) {
  const bytes = ids.flatMap((id) => {
    const [text, hex] = fold.pieces[id] ?? [`#${id}`, ''];
    return hex ? hex.match(/../g).map((pair) => parseInt(pair, 16)) : [...new TextEncoder().encode(text)];
  });
  return new TextDecoder().decode(new Uint8Array(bytes));
}

/** A fenced block under its name. */
function block(name, text) {
  const fence = '`'.repeat(Math.max(3, longest(text) + 1));
  return `${plain(name)}:\n\n${fence}text\n${text}\n${fence}`;
}

/** A token in line: quoted as JSON does, so that spaces and line breaks are seen. */
function span(text) {
  const quoted = JSON.stringify(text);
  const fence = '`'.repeat(longest(quoted) + 1);
  return `${fence} ${quoted} ${fence}`;
}

const longest = (text) => Math.max(0, ...(text.match(/`+/g) ?? []).map((run) => run.length));

/** Words that mean nothing in Markdown or HTML. */
const plain = (text) => text.replace(/\s+/g, ' ').replace(/[\\`*_[\]<>#|~&]/g, '\\$&');
