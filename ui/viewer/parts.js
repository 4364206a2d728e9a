// A drawing of many parts of which few change from step to step: the others stay in the document as they are.

const drawn = new WeakMap(); // node -> its parts by what they show

/** Makes `root`'s children those of `parts`, in their order. A part: {draw, part, of}; it is drawn again when one of them differs. */
export function keepParts(root, parts) {
  const old = drawn.get(root) ?? new Map();
  const now = new Map();
  for (const { draw, part, of = '' } of parts) {
    let key = `${draw.name} ${of} ${JSON.stringify(part)}`;
    while (now.has(key)) key += '+';
    now.set(key, old.get(key) ?? draw(part));
  }
  for (const [key, node] of old) if (!now.has(key)) node.remove();
  let next = root.firstChild;
  for (const node of now.values()) {
    if (node === next) next = next.nextSibling;
    else root.insertBefore(node, next);
  }
  drawn.set(root, now);
}
