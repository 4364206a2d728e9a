// What a round's copies cost: how many entries were read, how large one is, and which copy read them why.

import { t, tn } from './strings.js';

const BYTES = { float64: 8, float32: 4, bfloat16: 2, float16: 2 };

/** Bytes of one entry of the target (keys and values of all layers); 0 where the header does not say. */
export function entryBytes({ models, dtype }) {
  const { layers, kv_heads: heads, head_dim: dim } = models?.target ?? {};
  return 2 * layers * heads * dim * BYTES[dtype] || 0;
}

/** {bytes, avoided, entries, each, parts: [{op, n}]} of a frame; `n` counts entries where their size is known, else bytes. */
export function costOf(header, frame) {
  const each = frame.copied.every(([, model]) => model === 'target') ? entryBytes(header) : 0;
  const whole = each && frame.bytes % each === 0;
  const parts = frame.copied.filter(([, , bytes]) => bytes).map(([op, , bytes]) => ({ op, n: whole ? bytes / each : bytes }));
  return { bytes: frame.bytes, avoided: frame.avoided, each: whole ? each : 0, entries: whole ? frame.bytes / each : 0, parts };
}

/** The same in words; '' where nothing was copied and nothing was saved. */
export function costWords(header, frame) {
  const { bytes, avoided, each, entries, parts } = costOf(header, frame);
  const number = (n) => n.toLocaleString('en');
  const saved = avoided ? t(bytes ? 'cost.avoided' : 'cost.avoidedAll', { bytes: number(avoided) }) : '';
  if (!bytes) return saved;
  const total = each ? t('cost.entries', { entries: tn('cost.n', entries).replace(String(entries), number(entries)), each: number(each), bytes: number(bytes) }) : t('cost.bytes', { bytes: number(bytes) });
  const why = parts.map(({ op, n }) => (parts.length > 1 ? t('cost.part', { n: number(n), why: t(`cost.why.${op}`) ?? op }) : t(`cost.why.${op}`) ?? op)).join(t('cost.and'));
  return [t('cost.total', { total, why }), saved].filter(Boolean).join(' ');
}
