// Previous, play, next, and a scrubber with marks at the first tear and the first wrong word.

import { firstStep, lastStep, shownGap, shownWrong } from './clock.js';
import { el, svg } from './svg.js';
import { t } from './strings.js';

const ICONS = {
  back: 'M5 4v12M15 4l-8 6 8 6z', forward: 'M15 4v12M5 4l8 6-8 6z', play: 'M6 3l11 7-11 7z', pause: 'M5 3h4v14H5zM11 3h4v14h-4z',
  replay: 'M15.5 10a5.5 5.5 0 1 1-2-4.2M13.8 2v4h-4',
};

export function mountTransport(node, store, player) {
  const button = (icon, label, onclick) => el('button', { type: 'button', class: `r-btn ${icon}`, 'aria-label': label, title: label, onclick }, drawing(icon));
  const back = button('back', t('back'), () => player.by(-1));
  const play = button('play', t('play'), () => player.toggle());
  const forward = button('forward', t('forward'), () => player.by(1));
  const live = el('button', { type: 'button', class: 'r-live', onclick: () => store.set({ live: true, step: lastStep(store.get()) }) }, t('toLive'));
  const range = el('input', { type: 'range', min: 0, step: 1, 'aria-label': t('scrub'), oninput: () => player.go(Number(range.value)) });
  const marks = el('div', { class: 'r-marks' });
  const count = el('output', { class: 'r-round' });
  node.append(back, play, forward, el('div', { class: 'r-scrub' }, marks, range), count, live);

  store.subscribe((state, changed) => {
    if (!state.fold) return;
    const [first, last] = [firstStep(state), lastStep(state)];
    const share = (step) => (step - first) / (last - first);
    range.min = first;
    range.max = last;
    range.value = state.step;
    range.setAttribute('aria-valuetext', t('round', { step: state.step, last }));
    node.style.setProperty('--r-at', last > first ? share(state.step) : 0);
    count.textContent = t('round', { step: state.step, last }) + (state.speed === 1 ? '' : ` · ${t('speed', { n: state.speed })}`);
    const icon = state.playing ? 'pause' : state.step >= last && last > first ? 'replay' : 'play';
    if (play.dataset.icon !== icon) play.replaceChildren(drawing(icon)); // a drawing replaced under the finger loses its click
    play.dataset.icon = icon;
    play.title = t(icon);
    play.setAttribute('aria-label', t(icon));
    back.disabled = state.step <= first;
    forward.disabled = state.step >= last;
    live.hidden = state.source.kind !== 'live' || state.live || state.fold.status !== 'running';
    if (['fold', 'version', 'right', 'row', 'oneRow', 'sole'].some((key) => changed.has(key))) drawMarks(marks, state, last > first && share, player);
  });
}

/** `share(step)`: how far along the track a step stands; false where there is one step only. */
function drawMarks(node, state, share, player) {
  const mark = (found, kind, label, why) => found && share && el('button', {
    type: 'button', class: `r-mark ${kind}`, style: `--at:${share(found.step)}`, tabindex: -1, 'aria-hidden': 'true',
    onclick: () => player.go(found.step), title: why,
  }, label);
  const [gap, wrong] = [shownGap(state), shownWrong(state)];
  const tie = wrong?.verdict === 'rounding';
  const near = gap && wrong && share && (share(wrong.step) - share(gap.step)) * node.clientWidth < 104; // no room for two labels
  const frames = state.fold.lanes[state.right]?.frames ?? [];
  const row = (found) => t('rowInText', { n: (found?.row ?? state.row) + 1 });
  const fed = gap && frames.find((frame) => frame.step > gap.step && frame.rows.includes(gap.row ?? state.row))?.step;
  const marks = [mark(gap, near ? 'gap bare' : 'gap', t('markGap'), t(fed === undefined ? 'markGapOpen' : 'markGapWhy', { step: gap?.step, fed, row: row(gap) })),
    mark(wrong, 'wrong', t(tie ? 'markTie' : 'markWrong'), t(tie ? 'markTieWhy' : 'markWrongWhy', { step: wrong?.step, row: row(wrong) }))];
  node.replaceChildren(...marks.filter(Boolean));
}

function drawing(icon) {
  return svg('svg', { width: 20, height: 20, viewBox: '0 0 20 20', 'aria-hidden': 'true' }, svg('path', { d: ICONS[icon], class: icon === 'replay' ? 'line' : 'solid' }));
}
