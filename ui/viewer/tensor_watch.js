// When the tensor views must look again: their width, the theme, a printer, their coming into sight. Each returns its own end.

/** Calls `change` when `box` gets another width. */
export function watchSize(box, change) {
  let last = 0;
  const watch = new ResizeObserver(() => {
    if (box.clientWidth === last) return;
    last = box.clientWidth;
    change();
  });
  watch.observe(box);
  return () => watch.disconnect();
}

/** Calls `change` when the page turns dark or light: by a class of <html> or <body>, or by the system. */
export function watchTheme(change) {
  const watch = new MutationObserver(change);
  for (const node of [document.body, document.documentElement]) {
    watch.observe(node, { attributes: true, attributeFilter: ['class', 'data-theme'] });
  }
  const media = window.matchMedia('(prefers-color-scheme: dark)');
  media.addEventListener('change', change);
  return () => {
    watch.disconnect();
    media.removeEventListener('change', change);
  };
}

/** Calls `change(printing)` before the page is printed and after. The theme has changed by then (theme.js listens first). */
export function watchPrint(change) {
  const [before, after] = [() => change(true), () => change(false)];
  window.addEventListener('beforeprint', before);
  window.addEventListener('afterprint', after);
  return () => {
    window.removeEventListener('beforeprint', before);
    window.removeEventListener('afterprint', after);
  };
}

/** Calls `change(visible)`. A hidden plot has no width, and unseen work is wasted. */
export function watchSight(box, change) {
  const watch = new IntersectionObserver((entries) => change(entries.at(-1).isIntersecting), { rootMargin: '120px 0px' });
  watch.observe(box);
  return () => watch.disconnect();
}

export function nextFrame() {
  return new Promise((resolve) => { requestAnimationFrame(resolve); });
}
