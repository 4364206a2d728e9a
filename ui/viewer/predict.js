// Break it yourself: a live run with one fault stops before its first round until somebody has said which invariant will
// light; then it goes on, and the first violation is set beside the bet.

import { violationTable } from './drop_report.js';
import { lastStep } from './clock.js';
import { countEqual } from './verdict.js';
import { el } from './svg.js';
import { t, laneLong } from './strings.js';

const INVARIANTS = ['kv', 'contiguity', 'mask', 'input', 'emission', 'rectangle'];

/** `page.faults`: lane name -> what its fault does; `act` = {violation(lane, first)}: shows where it broke. */
export function mountPredict(at, store, page, act) {
  const title = el('h2', { tabindex: -1, id: 'r-predict-title' }, t('predict.title'));
  const close = el('button', { type: 'button', class: 'r-tool', 'aria-label': t('close'), title: t('close'), onclick: () => shut() }, '×');
  const fault = el('p', { class: 'r-lead' });
  const ask = el('p', { class: 'r-ask' }, t('predict.ask'));
  const options = el('div', { class: 'r-bets' }, ...[...INVARIANTS, 'none'].map((name) => el('button', { type: 'button', 'data-value': name, 'aria-pressed': 'false', onclick: () => choose(name) },
    el('b', {}, nameOf(name)), el('small', {}, name === 'none' ? t('predict.noneMeans') : t(`drop.means.${name}`)))));
  const said = el('p', { class: 'r-feed', role: 'status' });
  const found = el('div', { class: 'r-lit' });
  const node = el('section', { id: 'ragged-predict', class: 'r-panel', hidden: true, 'aria-labelledby': 'r-predict-title' },
    el('header', { class: 'r-phead' }, title, close), fault, ask, options, said, found);
  at.line.after(node);
  let now = null; // {fold, lane, bet, told}

  store.subscribe((state, changed) => {
    if (changed.has('fold')) begin(state);
    if (now?.bet && changed.has('version')) tell(state);
  });

  /** A run that has just begun, in which the page knows what one lane's fault does. */
  function begin({ fold, live, source }) {
    const lane = live && source.kind === 'live' ? Object.keys(fold.lanes).find((name) => Object.hasOwn(page.faults ?? {}, name)) : null;
    if (!lane) return shut();
    now = { fold, lane, bet: null, told: false };
    fault.textContent = t('predict.fault', { lane: laneLong(lane), what: page.faults[lane] });
    options.querySelectorAll('button').forEach((button) => { button.setAttribute('aria-pressed', 'false'); button.disabled = false; button.classList.remove('lit'); });
    [said.textContent, ask.hidden, node.hidden] = ['', false, false];
    found.replaceChildren();
    store.set({ live: false, step: 0, playing: false, guessing: 'bet' });
    return title.focus({ preventScroll: true });
  }

  function choose(name) {
    if (!now || now.bet) return;
    now.bet = name;
    ask.hidden = true;
    options.querySelectorAll('button').forEach((button) => { button.setAttribute('aria-pressed', String(button.dataset.value === name)); button.disabled = true; });
    const state = store.get();
    store.set({ live: state.fold.status === 'running', guessing: '', right: now.lane, step: state.fold.status === 'running' ? lastStep(state) : state.step });
    tell(store.get());
  }

  /** The bet and what came: as soon as a violation is in the trace, or the run is over. */
  function tell({ fold }) {
    if (now.told) return;
    const bet = t('predict.bet', { bet: nameOf(now.bet) });
    const first = firstOf(fold.lanes[now.lane]);
    const over = fold.lanes[now.lane].status !== 'running' || fold.status !== 'running';
    const judged = over && !countEqual(fold, now.lane).waiting;
    if (!first && !over) said.textContent = `${bet} ${t('predict.waiting')}`;
    else {
      const verdict = t(now.bet === (first?.invariant ?? 'none') ? 'predict.right' : 'predict.wrong');
      const lit = first ? t('predict.lit', { what: nameOf(first.invariant), step: first.step }) : t('predict.nothing');
      said.textContent = [bet, lit, verdict, judged ? t('predict.text', countEqual(fold, now.lane)) : ''].filter(Boolean).join(' ');
      options.querySelector(`[data-value="${first?.invariant ?? 'none'}"]`).classList.add('lit');
      if (first && !found.childElementCount) found.replaceChildren(...lightOf(first));
    }
    now.told = judged;
  }

  function lightOf(first) {
    const { lane } = now;
    const show = el('button', { type: 'button', class: 'r-text', onclick: () => act.violation(lane, first) }, t('predict.show'));
    return [el('div', { class: 'r-scroll' }, violationTable(first)), el('p', { class: 'r-found' }, `${first.message}. `, show)];
  }

  function shut() {
    const inside = node.contains(document.activeElement);
    if (now && store.get().guessing === 'bet') store.set({ guessing: '' });
    now = null;
    node.hidden = true;
    if (inside) at.board.parentElement.focus({ preventScroll: true });
  }
}

const nameOf = (invariant) => (invariant === 'none' ? t('predict.none') : t(`invariant.${invariant}`));

/** A lane's first violation with its step, or null. */
function firstOf(lane) {
  const frame = lane.frames.find(({ violations }) => violations.length);
  return frame ? { step: frame.step, ...frame.violations[0] } : null;
}
