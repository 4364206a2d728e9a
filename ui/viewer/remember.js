// What is worked out of a folded trace is kept until the fold hears of more. The latest only: a ribbon is as long as its row.

const MOST = 256;
const known = new WeakMap(); // fold -> key -> value

/** `make()`, or what it gave for this key of this fold before. Nobody may change it. */
export function remember(fold, key, make) {
  if (!known.has(fold)) known.set(fold, new Map());
  const kept = known.get(fold);
  const value = kept.has(key) ? kept.get(key) : make();
  kept.delete(key);
  kept.set(key, value); // now the latest
  if (kept.size > MOST) kept.delete(kept.keys().next().value);
  return value;
}

/** The fold has changed. */
export function forget(fold) {
  known.delete(fold);
}
