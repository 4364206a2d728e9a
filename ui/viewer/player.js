// Plays the rounds: about 1.2 s each, at most 8 s for the opening, which stops by itself at the first wrong word.

import { firstStep, lastStep, tellingWrong } from './clock.js';

const ROUND_MS = 1200;
const OPENING_MS = 8000;

export const SPEEDS = [0.5, 1, 2, 4];

export function createPlayer(store) {
  let timer = 0;
  let until = Infinity;
  let pace = ROUND_MS;

  function tick() {
    const state = store.get();
    if (!state.playing) return;
    const end = Math.min(until, lastStep(state));
    if (state.step < end) store.set({ step: state.step + 1 });
    if (store.get().step >= end) pause();
    else wait();
  }

  function wait() {
    clearTimeout(timer);
    timer = setTimeout(tick, pace / store.get().speed);
  }

  function pause() {
    clearTimeout(timer);
    store.set({ playing: false });
  }

  function play(stop = Infinity, ms = ROUND_MS) {
    [until, pace] = [stop, ms];
    const state = store.get();
    store.set({ playing: true, live: false, step: state.step >= lastStep(state) ? firstStep(state) : state.step });
    wait();
  }

  /** To a step, by hand: playing ends, the live edge is left. */
  function go(step) {
    const state = store.get();
    pause();
    store.set({ step: Math.max(firstStep(state), Math.min(lastStep(state), step)), live: false, touched: true });
  }

  return {
    play() {
      store.set({ touched: true });
      play();
    },
    pause() {
      store.set({ touched: true });
      pause();
    },
    toggle() {
      if (store.get().playing) this.pause();
      else this.play();
    },
    stop: pause, // not somebody's act
    go,
    by: (n) => go(store.get().step + n),
    faster(n) {
      const at = SPEEDS.indexOf(store.get().speed) + n;
      store.set({ speed: SPEEDS[Math.max(0, Math.min(SPEEDS.length - 1, at))] });
    },
    /** The opening: once, from the first round to the first wrong word. */
    opening() {
      const stop = openingStop(store.get());
      const rounds = stop - firstStep(store.get());
      if (rounds > 0) play(stop, Math.min(ROUND_MS, OPENING_MS / rounds));
    },
  };
}

/** Where the opening stops: at a first wrong word behind a tear with rejected drafts in it, else the first, else the end. */
export function openingStop(state) {
  return tellingWrong(state)?.step ?? lastStep(state);
}
