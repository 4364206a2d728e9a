// The single UI state. Everything on the page is a function of it; changes reach the views once per animation frame.

export const INITIAL = {
  fold: null, //        the folded trace; mutated in place while a run streams in, so watch `version`
  version: 0, //        counts changes of the fold
  source: { kind: 'recorded', name: 'hero' }, // kind: recorded | live | file
  left: 'eqspec', //    lane names
  right: 'bsp',
  step: 0,
  row: 0, //            selected row id
  cell: null, //        pinned {lane, row, index}; index = content token index
  note: null, //        a note pinned to a cell: {lane, row, index, text}
  broken: null, //      an invariant's violation that is being shown: {lane, row, slot, step}
  hover: null, //       the same, under the pointer or the keyboard
  view: 'kinds', //     open tensor view: one of views.js
  tensorsOpen: false,
  unfolded: false, //   prompts drawn cell by cell
  allRows: false,
  oneRow: false, //     a phone shows the selected row only; so does a presenter's low screen
  alias: '', //         what a chapter calls the lane on the stage while its name would answer a question
  sole: false, //       so does a chapter's question about one row
  playing: false,
  speed: 1,
  live: false, //       following the live edge
  awaited: '', //       a run whose first event has not come: what is on the stage is something else
  debug: false, //      the divergence debugger is open
  inspect: false, //    the inspector is open, as long as a cell is pinned
  micro: false, //      the microscope is open
  stopEmpty: false, //  playing stops when a row accepts nothing
  chapter: null, //     the number of the open chapter
  guessing: '', //      'chapter' or 'bet': its question is open, and nothing on the stage may answer it; 'why': it asks for the cause alone
  asked: false, //      a chapter's bet, exercise or question is open: no key may go to what it asks for
  mayRepair: true, //   false in chapters whose question the repair would answer
  touched: false, //    somebody acted: from now on the address follows the state
  message: '',
};

export function createStore(initial = {}) {
  let state = { ...INITIAL, ...initial };
  let changed = new Set();
  let scheduled = false;
  const listeners = new Set();

  function flush() {
    scheduled = false;
    const keys = changed;
    changed = new Set();
    for (const listener of listeners) {
      try {
        listener(state, keys);
      } catch (error) {
        console.error(error); // one broken view must not silence the others
      }
    }
  }

  return {
    get: () => state,
    /** Merge `patch`; listeners hear of it on the next animation frame with the set of changed keys. */
    set(patch) {
      const keys = Object.keys(patch).filter((key) => state[key] !== patch[key]);
      if (!keys.length) return;
      state = { ...state, ...patch };
      keys.forEach((key) => changed.add(key));
      if (!scheduled) {
        scheduled = true;
        requestAnimationFrame(flush);
      }
    },
    /** Calls `listener(state, changedKeys)` after changes; returns the function that ends it. */
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
