// One stop for the Tab key in a list of options; the arrows, Home and End go from one to the next.

/** Makes the `.option` nodes in `list` reachable. `choose(node)` on Enter or Space. `at`: which one Tab reaches first. */
export function rove(list, option, choose) {
  const all = () => [...list.querySelectorAll(option)];
  const stop = (node) => all().forEach((other) => { other.tabIndex = other === node ? 0 : -1; });
  list.addEventListener('focusin', ({ target }) => { if (target.matches(option)) stop(target); });
  list.addEventListener('keydown', (event) => {
    const node = event.target.closest(option);
    if (!node || event.ctrlKey || event.altKey || event.metaKey) return;
    const nodes = all();
    const n = nodes.indexOf(node);
    const to = { ArrowLeft: n - 1, ArrowRight: n + 1, Home: 0, End: nodes.length - 1 }[event.key];
    if (to !== undefined) nodes[Math.max(0, Math.min(nodes.length - 1, to))].focus();
    else if (event.key === 'Enter' || event.key === ' ') choose(node);
    else return;
    event.preventDefault(); // the page's own arrows and Space must not act as well
  });
  return stop;
}
