// One sentence for this round, chosen by what matters most in it: the first wrong word, the first tear, the rest.

import { lastStep, laneGap, onlyOne, rowOrder, shownGap } from './clock.js';
import { otherLane } from './repair.js';
import { firstViolation, firstWrong, ribbonOf } from './gaps.js';
import { reasonOf } from './reason.js';
import { countEqual } from './verdict.js';
import { quoted } from './pieces.js';
import { t, tn, laneLong } from './strings.js';

export function narrate(state) {
  const { fold, left, right, step } = state;
  if (!fold?.lanes[left]?.frames.length && !fold?.lanes[right]?.frames.length) return t('sayWait');
  if (right.endsWith('_repaired')) return healed(state);
  return wrongHere(state) ?? brokenHere(state) ?? theEnd(state) ?? (step === 0 ? prefill(state) : firstTear(state)) ?? plainRound(state);
}

const rowName = (row) => t('rowInText', { n: row + 1 });

/** The rows that are spoken of: the selected one first, and alone where only that is shown. */
function rowsOf(state) {
  if (onlyOne(state)) return [state.row];
  return [state.row, ...rowOrder(state.fold).filter((row) => row !== state.row)];
}

function wrongHere(state) {
  const { fold, right, step } = state;
  const row = rowsOf(state).find((r) => firstWrong(fold, right, r)?.step === step);
  if (row === undefined) return null;
  const { expected, actual, verdict, index } = firstWrong(fold, right, row);
  const gaps = ribbonOf(fold, right, row, step)?.gaps.filter((gap) => gap.before < index) ?? []; // no ribbon where its prompt is not seen
  const end = t('endToken');
  const values = { step, row: rowName(row), right: laneLong(right), actual: quoted(actual, fold, end), expected: quoted(expected, fold, end) };
  const broken = firstViolation(fold, right, row);
  if (verdict === 'bug' && broken && broken.invariant !== 'contiguity') {
    return t('sayWrongBy', { ...values, what: t(`invariant.${broken.invariant}`), broke: broken.step, why: reasonOf(fold, right, row, broken) });
  }
  if (verdict !== 'bug' || !gaps.length) return null;
  return t('sayWrong', {
    ...values,
    tears: tn('tears', gaps.length), places: tn('places', gaps.reduce((sum, gap) => sum + gap.size, 0)),
  });
}

/** The round in which a row's first invariant breaks. A gap has sentences of its own. */
function brokenHere(state) {
  const { fold, left, right, step } = state;
  for (const lane of new Set([right, left])) {
    const row = rowsOf(state).find((r) => firstViolation(fold, lane, r)?.step === step);
    const broken = row === undefined ? null : firstViolation(fold, lane, row);
    if (broken && broken.invariant !== 'contiguity') {
      return t('sayBroken', { step, row: rowName(row), lane: laneLong(lane), what: t(`invariant.${broken.invariant}`), why: reasonOf(fold, lane, row, broken) });
    }
  }
  return null;
}

/** The last round of a finished pair that disagrees: what came out, and what to try. */
function theEnd(state) {
  const { fold, left, right, step } = state;
  const [a, b] = [countEqual(fold, left), countEqual(fold, right)];
  const over = [left, right].every((lane) => fold.lanes[lane]?.status === 'done');
  if (!over || step < lastStep(state) || !otherLane(state) || a.waiting || b.waiting || b.equal === b.rows) return null;
  return t(state.mayRepair ? 'sayEndTry' : 'sayEnd', { left: laneLong(left), right: laneLong(right), a: a.equal, b: b.equal, rows: a.rows });
}

/** Prefill: the row whose answer begins farthest from its prompt. */
function prefill(state) {
  const { fold, right } = state;
  const worst = rowsOf(state).map((row) => ({ row, n: ribbonOf(fold, right, row, 0)?.gaps[0]?.size ?? 0 }))
    .reduce((a, b) => (b.n > a.n ? b : a));
  if (worst.n < 1) return t('sayPrefill');
  return t('sayPads', { right: laneLong(right), row: rowName(worst.row), places: tn('places', worst.n) });
}

function firstTear(state) {
  const { fold, left, right, step } = state;
  const gap = shownGap(state);
  if (!gap || gap.step !== step || laneGap(fold, left)) return null;
  const row = gap.row ?? state.row;
  const tear = ribbonOf(fold, right, row, step)?.gaps.find((found) => found.before === gap.index);
  if (!tear?.dead.some((dead) => dead.kind === 'rejected')) return null;
  return t('sayFirstGap', { step, left: laneLong(left), right: laneLong(right), row: rowName(row), places: tn('places', gap.size) });
}

/** The selected row in both lanes, or the first row that still decodes in one of them. */
function plainRound(state) {
  const { fold, left, right, step } = state;
  const decodes = (row) => [left, right].some((lane) => ribbonOf(fold, lane, row, step)?.now);
  const row = rowsOf(state).find(decodes) ?? state.row;
  const values = { step, row: rowName(row), left: half(state, left, row), right: half(state, right, row) };
  return t(left === right ? 'sayOne' : 'say', values);
}

/** What one lane did with one row in this round. */
function half({ fold, step }, lane, row) {
  const name = laneLong(lane);
  const ribbon = ribbonOf(fold, lane, row, step);
  if (!ribbon?.now) return t(ribbon?.done ? 'ended' : 'pending', { lane: name });
  const wrong = firstWrong(fold, lane, row);
  if (wrong && step > wrong.step) return t('past', { lane: name, tokens: tn('tokens', ribbon.tokens.at(-1).index - wrong.index) });
  const [drafted, kept] = [ribbon.frame.lens[ribbon.i] ?? 0, ribbon.frame.accepted[ribbon.i] ?? 0];
  const values = { lane: name, kept, drafts: tn('drafts', drafted) };
  const tear = ribbon.gaps.find((gap) => gap.dead.some((dead) => dead.fresh));
  if (tear) {
    const places = tn('places', tear.size);
    if (kept < drafted) return t('leaves', { ...values, places, dead: tn('deadSlots', tear.dead.length) });
    return t(drafted ? 'leavesUnused' : 'leavesEmpty', { ...values, places, dead: tn('unusedSlots', tear.dead.length) });
  }
  if (!drafted) return t('noDraft', values);
  return t(kept === drafted ? 'keepsAll' : kept ? 'keepsSome' : 'keepsNone', values);
}

function healed(state) {
  const { equal, rows, waiting } = countEqual(state.fold, state.right);
  return waiting ? plainRound(state) : t('sayHealed', { equal, rows });
}
