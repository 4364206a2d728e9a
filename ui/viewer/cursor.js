// Links cells and words: what the pointer or the keyboard is on is lit in both, and its twin in the other lane too.

/** The {lane, row, index} of an element inside a lane block, or null. */
function addressOf(target) {
  const part = target.closest?.('[data-index]');
  const lane = part?.closest('[data-lane]');
  return lane ? { lane: lane.dataset.lane, row: Number(lane.dataset.row), index: Number(part.dataset.index) } : null;
}

const same = (a, b) => a === b || (a && b && a.lane === b.lane && a.row === b.row && a.index === b.index);

export function mountCursor(board, store) {
  const hover = (at) => { if (!same(store.get().hover, at)) store.set({ hover: at }); };
  const pin = (at) => store.set({ cell: same(store.get().cell, at) ? null : at, row: at.row, touched: true });
  board.addEventListener('pointerover', (event) => hover(addressOf(event.target)));
  board.addEventListener('pointerleave', () => hover(null));
  board.addEventListener('focusin', (event) => { if (event.target.matches('.r-word')) hover(addressOf(event.target)); });
  board.addEventListener('focusout', () => hover(null));
  board.addEventListener('click', (event) => {
    const at = addressOf(event.target);
    if (at) pin(at);
  });
  board.addEventListener('keydown', (event) => walk(event, pin));
  store.subscribe((state) => light(board, state));
}

/** Inside a line the arrows go from word to word, Enter pins, Escape unpins. */
function walk(event, pin) {
  const word = event.target.closest('.r-word');
  if (!word) return;
  const words = [...word.parentElement.querySelectorAll('.r-word:not(.future)')];
  const at = words.indexOf(word);
  const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: words.length - 1 }[event.key];
  if (to !== undefined) {
    const next = words[Math.max(0, Math.min(words.length - 1, to))];
    word.classList.remove('cursor');
    next.classList.add('cursor');
    word.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  } else if (event.key === 'Enter' || event.key === ' ') pin(addressOf(word));
  else return;
  event.preventDefault();
}

/** Marks what is pinned, noted or under the pointer; every redrawing of the ribbons needs it again. */
export function light(board, state) {
  board.querySelectorAll('.lit, .pinned, .twin, .noted').forEach((node) => node.classList.remove('lit', 'pinned', 'twin', 'noted'));
  mark(board, state.note, 'noted');
  board.querySelectorAll('[aria-selected=true]').forEach((node) => node.setAttribute('aria-selected', 'false'));
  mark(board, state.hover, 'lit');
  mark(board, state.cell, 'pinned').forEach((node) => { if (node.matches('.r-word')) node.setAttribute('aria-selected', 'true'); });
  const at = state.hover ?? state.cell;
  if (!at) return;
  const other = at.lane === state.left ? state.right : state.left;
  mark(board, { ...at, lane: other }, 'twin');
}

/** Adds a class to the cell and the word (which may hold several tokens) at an address. */
function mark(board, at, name) {
  const block = at && [...board.querySelectorAll('.r-lane')].find((node) => node.dataset.lane === at.lane && Number(node.dataset.row) === at.row);
  if (!block) return [];
  const found = [...block.querySelectorAll('[data-index]')].filter((node) => {
    const first = Number(node.dataset.index);
    return first <= at.index && at.index <= Number(node.dataset.last ?? first);
  });
  found.forEach((node) => node.classList.add(name));
  return found;
}
