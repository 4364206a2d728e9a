// Redrawing replaces nodes; what had the focus gets it back. Such nodes name themselves with data-key.

/** Runs `draw`, which may replace nodes inside `root`. */
export function holdFocus(root, draw) {
  const active = document.activeElement;
  const key = root.contains(active) ? active.closest('[data-key]')?.dataset.key : undefined;
  draw();
  if (key === undefined || root.contains(document.activeElement)) return;
  root.querySelector(`[data-key="${CSS.escape(key)}"]`)?.focus({ preventScroll: true });
}
