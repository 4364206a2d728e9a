// What is drawn again at every step is mostly what stands there already: a node that is told the same again is left alone.

const told = new WeakMap();

/** Whether `node` was told exactly this the last time; notes it. */
export function unchanged(node, ...what) {
  const now = JSON.stringify(what);
  if (told.get(node) === now) return true;
  told.set(node, now);
  return false;
}

/** Writes a node's text, if it is another one. */
export function write(node, text) {
  if (node.textContent !== text) node.textContent = text;
}
