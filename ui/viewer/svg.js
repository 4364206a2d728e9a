// Small helpers that make DOM and SVG nodes. Values become attributes and text nodes, never markup.

const NS = 'http://www.w3.org/2000/svg';

/** svg('rect', {x: 1, class: 'cell'}, child, 'text') */
export function svg(name, attributes = {}, ...children) {
  return fill(document.createElementNS(NS, name), attributes, children);
}

/** el('button', {type: 'button', onclick: fn}, 'text'); attributes that are null or false are left out. */
export function el(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

function fill(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value == null || value === false) continue;
    if (key.startsWith('on')) node.addEventListener(key.slice(2), value);
    else node.setAttribute(key, value === true ? '' : value);
  }
  node.append(...children.filter((child) => child != null && child !== false));
  return node;
}
