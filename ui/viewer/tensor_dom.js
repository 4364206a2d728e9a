// Two helpers to build elements. Text is always a text node, never markup.

/** An element with a class, attributes and children; falsy children are left out. */
export function el(tag, name = '', attributes = {}, children = []) {
  const node = document.createElement(tag);
  if (name) node.className = name;
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children.filter(Boolean));
  return node;
}

/** Puts an absolutely positioned element at a px box. */
export function place(node, { x, y, w, h }) {
  Object.assign(node.style, { left: `${x}px`, top: `${y}px` });
  if (w !== undefined) node.style.width = `${w}px`;
  if (h !== undefined) Object.assign(node.style, { height: `${h}px`, lineHeight: `${h}px` });
  return node;
}
