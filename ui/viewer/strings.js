// The words on the stage, looked up in one table (strings_en.js). Another language is another table of the same shape:
// setStrings(table). Text goes to the page as text, never as markup.

import { EN } from './strings_en.js';

let table = EN;

export function setStrings(other) {
  table = { ...EN, ...other };
}

/** The string at `key` ("verdict" or "lane.bsp"), with its {values} filled in. */
export function t(key, values = {}) {
  const found = key.split('.').reduce((node, part) => (Object.hasOwn(node ?? {}, part) ? node[part] : undefined), table);
  if (typeof found !== 'string') return found;
  return found.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? upright(values[name]) : whole));
}

const TURNING = /[\u202a-\u202e\u2066-\u2069]/g;

/** Text from outside in a sentence of ours: controls that would turn the words round it about are shown by their code. */
export const upright = (text) => String(text).replace(TURNING, (c) => `U+${c.codePointAt(0).toString(16).toUpperCase()}`);

/** The form of `key` for the count n: {one, other, ...} as the language's plural rules say. */
export function tn(key, n) {
  const forms = t(key);
  const form = new Intl.PluralRules(table.language).select(n);
  return (forms[form] ?? forms.other).replaceAll('{n}', n);
}

let alias = '';

/** What all lanes are called while a chapter asks which one this is; '' gives them their names back. */
export function setAlias(name) {
  alias = name;
}

/** A lane's name as people read it. */
export const laneName = (lane) => alias || (t(`lane.${lane}`) ?? (methodOf(lane) ? t(`lane.${methodOf(lane)}`) : upright(lane)));

/** What else is to say of a lane beside its method: "dsd_visible_pads" is DSD with visible pads. */
export const laneNote = (lane) => t(`laneNote.${lane}`) ?? (methodOf(lane) ? upright(lane.slice(methodOf(lane).length + 1).replaceAll('_', ' ')) : undefined);

export function laneLong(lane) {
  if (alias) return alias;
  return t(`laneLong.${lane}`) ?? (laneNote(lane) ? t('laneWith', { lane: laneName(lane), note: laneNote(lane) }) : laneName(lane));
}

/** The known method that a lane's name begins with, where more follows. */
const methodOf = (lane) => Object.keys(t('lane')).find((method) => !method.includes('_') && lane.startsWith(`${method}_`));

/** A row's name as people read it: rows count from 1. */
export const rowName = (row) => t('row', { n: row + 1 });
