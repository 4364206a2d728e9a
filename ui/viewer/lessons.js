// The chapters: predict -> act -> check -> explain, on recorded runs. A chapter drives the stage through the store and
// stands in a panel above the rows; leaving it gives the view back as it was.

import { offered } from './lesson_list.js';
import { createTraces } from './lesson_trace.js';
import { buildPanel, drawHead } from './lesson_view.js';
import { drawStep } from './lesson_step.js';
import { explanation } from './lesson_why.js';
import { readProgress, writeProgress } from './lesson_progress.js';
import { inWords, say } from './lesson_strings.js';
import { mountKey } from './lesson_key.js';
import { mountKeyboard } from './lesson_keyboard.js';
import { readLink } from './link.js';
import { el } from './svg.js';
import { t, laneLong } from './strings.js';
import { tallest } from './lesson_height.js';

const VIEW = ['fold', 'source', 'version', 'left', 'right', 'step', 'row', 'cell', 'note', 'view', 'unfolded', 'allRows', 'live', 'debug', 'inspect', 'micro', 'message'];
const WIDE = 1100; // pixels of the stage

export async function mountLessons(at, store, player, page, embedded) {
  const load = createTraces(store, embedded);
  const chapters = await offered(page, load);
  if (!chapters.length) return;
  const progress = readProgress();
  const panel = buildPanel(chapters, { open: (n) => open(n), next, back, leave });
  const link = el('button', { type: 'button', class: 'r-text r-why', onclick: resume }, say('open', { n: inWords(chapters.length) }));
  at.line.after(panel.panel);
  at.foot.prepend(link);
  mountKey(panel.panel, chapters, load);
  panel.step.addEventListener('click', (event) => { // the second half of a double click on the step before answers nothing
    if (event.detail > 1 && performance.now() - drawnAt < 500) event.stopPropagation();
  }, true);
  let now = null; //  the open chapter: {n, steps, values, fold, records, step}
  let held = null; // the view before the first chapter
  let drawn = null; // the step on the panel
  let drawnAt = 0; // when it came
  let turn = 0; //    a slow trace must not open over a later choice

  /** `asked`: the note of a link. One that was made in the chapters goes on to the next as long as its run is shown. */
  async function open(n, asked = null) {
    const mine = ++turn;
    const chapter = chapters[n];
    let note = asked;
    try {
      const fold = await load(chapter.trace);
      if (mine !== turn) return;
      const values = chapter.facts(fold);
      if (!values) return tell(say('cannot'));
      if (now && chapters[now.n].trace === chapter.trace) note ??= store.get().note;
      held ??= Object.fromEntries(VIEW.map((key) => [key, store.get()[key]]));
      now = { n, values, fold, steps: stepsOf(chapter, values), records: [], step: 0 };
    } catch (error) {
      if (mine === turn) tell(say('noTrace', { why: error.message }));
      return;
    }
    progress.at = chapter.key;
    writeProgress(progress);
    panel.panel.hidden = false;
    at.stage.classList.add('lesson');
    show({ fold: now.fold, source: { kind: 'recorded', name: chapter.trace }, version: 0, unfolded: false, allRows: false, debug: false, micro: false, ...noted(note) });
    draw();
    panel.panel.scrollIntoView({ block: 'nearest' });
  }

  /** The note, where the chapter's run has its token; else the words that say so. */
  function noted(note) {
    const there = !note || now.fold.lanes[note.lane]?.rows[note.row]?.ids.length > note.index;
    return { note: there ? note : null, message: there ? '' : t('noCell', { lane: laneLong(note.lane), row: note.row + 1, index: note.index }) };
  }

  /** Sets the stage. Whatever plays or streams stops. */
  function show(patch) {
    const done = now.steps.some(({ kind }, n) => kind === 'act' && now.records[n]?.solved); // before that the repair would answer it
    player.stop();
    store.set({ cell: null, hover: null, inspect: false, live: false, sole: false, alias: '', touched: true, chapter: now.n + 1, mayRepair: done && Boolean(chapters[now.n].repair), ...patch });
  }

  function draw() {
    const step = now.steps[now.step];
    drawn?.end();
    reserve();
    const record = (now.records[now.step] ??= {});
    show(record.solved ? { ...step.view, ...step.reveal } : step.view);
    drawn = drawStep(panel.step, step, record, { step: now.steps[0], record: now.records[0] ?? {} }, { store, board: at.board, show, changed: answered });
    drawnAt = performance.now();
    ask();
    changed();
  }

  /** Room for the chapter's tallest step; where that would push the rows far down, for this step with its answer. */
  function reserve() {
    const steps = at.stage.clientWidth > WIDE ? now.steps : [now.steps[now.step]];
    panel.step.style.minHeight = `${tallest(panel.step, steps, now.steps[0])}px`;
  }

  /** To the question. On a phone the way on is below it: from there it may be out of sight. */
  function ask() {
    drawn.focus();
    if (at.stage.classList.contains('phone')) panel.step.firstElementChild.scrollIntoView({ block: 'nearest' });
  }

  /** A bet is a step by itself: what becomes of it is told later. After the last answer comes why. */
  function answered() {
    const { kind, why } = now.steps[now.step];
    if (kind === 'predict') {
      now.records.length = 1; // another bet begins anew
      changed();
      return next();
    }
    if (why) finish();
    changed();
    const active = document.activeElement; // nothing, where a button has just gone
    if (active !== document.body && !panel.panel.contains(active)) return null;
    return why ? panel.step.querySelector('.r-because').focus({ preventScroll: true }) : panel.next.focus({ preventScroll: true });
  }

  /** The chapter is done; the next time the chapters open with the one after it. */
  function finish() {
    const { key } = chapters[now.n];
    if (!progress.done.includes(key)) progress.done.push(key);
    progress.at = chapters[now.n + 1]?.key ?? null;
    writeProgress(progress);
  }

  /** After an answer, or a new step: what the way on is called and whether it is open. */
  function changed() {
    const step = now.steps[now.step];
    const solved = Boolean(now.records[now.step]?.solved);
    store.set({ asked: !solved, guessing: solved ? '' : step.hide === 'why' ? 'why' : step.hide ? 'chapter' : '', ...(solved ? { alias: '' } : {}) });
    drawHead(panel, chapters, now.n, solved && step.why ? 'why' : step.kind, now.values, progress.done);
    panel.next.disabled = !solved;
    panel.back.disabled = !now.n && !now.step;
    const following = chapters[now.n + 1];
    panel.next.textContent = !step.why ? say('next') : following ? say('nextChapter', { title: say(`${following.key}.title`) }) : say('finish');
  }

  function next() {
    if (!now || panel.next.disabled) return;
    if (now.step < now.steps.length - 1) {
      now.step += 1;
      draw();
    } else if (now.n < chapters.length - 1) open(now.n + 1);
    else leave();
  }

  function back() {
    if (!now || panel.back.disabled) return;
    if (now.step > 0) {
      now.step -= 1;
      draw();
    } else open(now.n - 1);
  }

  function resume() {
    const n = chapters.findIndex(({ key }) => key === progress.at);
    const undone = chapters.findIndex(({ key }) => !progress.done.includes(key));
    open(Math.max(0, n >= 0 ? n : undone));
  }

  /** Ends the chapters. The view comes back, unless something else has been opened meanwhile. */
  function leave(restore = true) {
    if (!now) return;
    const [view, mine] = [held, panel.panel.contains(document.activeElement) || document.activeElement === document.body];
    drawn?.end();
    turn += 1;
    now = held = drawn = null;
    panel.panel.hidden = true;
    at.stage.classList.remove('lesson');
    if (restore === false) return store.set({ chapter: null, asked: false, sole: false, alias: '', mayRepair: true, guessing: store.get().guessing === 'bet' ? 'bet' : '' });
    player.stop();
    store.set({ hover: null, ...view, version: view.version + 1, live: view.live && view.fold?.status === 'running', chapter: null, asked: false, sole: false, alias: '', mayRepair: true, guessing: '' });
    return mine && link.focus({ preventScroll: true });
  }

  /** Where the click was: in the panel, once a chapter is open. */
  function tell(message) {
    if (now) panel.trouble.textContent = message;
    else store.set({ message });
  }

  store.subscribe((state) => { if (now && state.fold !== now.fold) leave(false); }); // a live run, another trace
  mountKeyboard(at.stage, store, { open: () => Boolean(now), next, back, leave });
  const named = () => {
    const { chapter: asked, note } = readLink(location.search || page.link);
    if (asked && chapters[asked - 1] && asked !== now?.n + 1) open(asked - 1, note);
    else if (!asked) leave();
  };
  window.addEventListener('resize', () => now && reserve());
  window.addEventListener('popstate', () => setTimeout(named));
  if (store.get().fold) named();
  else {
    const stop = store.subscribe((state) => {
      if (!state.fold) return;
      stop();
      named();
    });
  }
}

/** A chapter's steps; the last one's answer brings its explanation. */
function stepsOf(chapter, values) {
  const steps = chapter.steps(values);
  return [...steps.slice(0, -1), { ...steps.at(-1), why: () => explanation(chapter, values) }];
}
