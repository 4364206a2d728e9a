// Keys while a chapter is open: N next, B back, Esc leaves, unless it closes the inspector or the debugger first.

/** `act` = {open() tells whether one is, next(), back(), leave()}. */
export function mountKeyboard(stage, store, act) {
  stage.addEventListener('keydown', (event) => {
    if (!act.open() || event.defaultPrevented || event.isComposing || event.ctrlKey || event.altKey || event.metaKey) return;
    const { target } = event;
    if (target.closest('dialog, textarea, select') || target.matches('input:not([type=range])')) return;
    const { inspect, cell, debug } = store.get();
    const does = { n: act.next, b: act.back, Escape: (inspect && cell) || debug ? null : act.leave }[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!does) return;
    event.preventDefault();
    does();
  }, true); // before the stage's own keys
}
