// How a token came to be: who drafted it, what the target thought of it, and what its round threw away.

import { absent, fact } from './facts.js';
import { topTwo } from './born.js';
import { kindOf } from './trace.js';
import { quoted } from './pieces.js';
import { t, tn } from './strings.js';

/** Who wrote it: prompt, draft or target. */
export function originFacts({ fold, born, id }) {
  if (!born) return [fact('kind', t('tokenKind.prompt'))];
  const { frame, i, j } = born;
  const { step } = frame;
  const kind = kindOf(frame.kinds[i]?.[j]);
  const out = [fact('kind', t('inspect.born', { kind: t(`tokenKind.${kind}`), step }), `commit.kinds[${i}][${j}]`, step)];
  const drafts = frame.draft[i] ?? [];
  const judged = frame.lens[i] ?? 0;
  if (kind === 'prefill') out.push(fact('drafted', t('inspect.noPropose')));
  else if (!frame.source.length) out.push(fact('drafted', t('inspect.noProposer')));
  else if (j >= judged) out.push(fact('drafted', t(judged ? 'inspect.bonus' : 'inspect.noDraft', { why: t(`inspect.why.${frame.why[i]}`) ?? frame.why[i] ?? t('inspect.absent') }), `propose.why[${i}]`, step));
  else {
    const values = { source: t(`inspect.source.${frame.source[i]}`) ?? frame.source[i] ?? t('inspect.absent'), j: j + 1, n: judged, other: quoted(drafts[j], fold, t('endToken')) };
    out.push(fact('drafted', t(drafts[j] === id ? 'inspect.draftedBy' : 'inspect.draftedOther', values), `propose.tokens[${i}][${j}], propose.source[${i}]`, step));
    out.push(number('q', frame.q[i]?.[j], `propose.q[${i}][${j}]`, step, t('inspect.noQ')));
  }
  return out;
}

/** What the target's forward said at this token, and what that forward computed in vain for the row. */
export function verdictFacts({ fold, born }) {
  if (!born) return [fact('accepted', t('inspect.given'))];
  const { frame, i, j } = born;
  const { step } = frame;
  const [accepted, judged] = [frame.accepted[i] ?? 0, frame.lens[i] ?? 0];
  const choice = frame.choice[i]?.[j];
  const emitted = frame.emitted[i][j];
  const out = [
    judged ? fact('accepted', t(j < accepted ? 'inspect.yes' : j < judged ? 'inspect.no' : 'inspect.all', { k: accepted, n: judged, j: j + 1 }), `commit.accepted[${i}]`, step)
      : fact('accepted', t('inspect.nothing'), `verify.lens[${i}]`, step),
    choice === undefined ? absent('choice', `verify.choice[${i}][${j}]`)
      : fact('choice', { id: choice, words: choice === emitted ? '' : t('inspect.notEmitted') }, `verify.choice[${i}][${j}]`, step, choice === emitted ? '' : 'bad'),
  ];
  const best = topTwo(born);
  if (best) {
    const from = `verify.top2[${i}][${j}]`;
    out.push(fact('first', { id: best[0].id, words: best[0].logit.toFixed(3) }, `${from}[1]`, step));
    out.push(fact('second', { id: best[1].id, words: best[1].logit.toFixed(3) }, `${from}[0], [2]`, step));
    out.push(fact('lead', (best[0].logit - best[1].logit).toFixed(3)));
  } else out.push(absent('first', `verify.top2[${i}][${j}]`));
  out.push(number('p', frame.p?.[i]?.[j], `verify.p[${i}][${j}]`, step, t('inspect.noP')));
  out.push(wasted(fold, frame, i));
  return out;
}

/** Columns of this round's forward that brought the row no token. */
function wasted(fold, frame, i) {
  const [accepted, judged, columns] = [frame.accepted[i] ?? 0, frame.lens[i] ?? 0, frame.positions[i]?.length ?? 0];
  const words = [];
  const from = [];
  if (judged > accepted) {
    const ids = (frame.draft[i] ?? []).slice(accepted, judged);
    words.push(`${tn('inspect.rejected', judged - accepted)}: ${ids.map((id) => quoted(id, fold, t('endToken'))).join(' ')}`);
    from.push(`commit.accepted[${i}]`, `propose.tokens[${i}]`);
  }
  const filler = frame.step === 0 || !frame.source.length ? 0 : columns - 1 - judged;
  if (filler > 0) {
    words.push(tn('inspect.filler', filler));
    from.push(`verify.lens[${i}]`);
  }
  const cut = frame.cut[i];
  if (cut) {
    words.push(t('inspect.cut', { why: t(`inspect.cutWhy.${cut}`) ?? cut }));
    from.push(`commit.cut[${i}]`);
  }
  return fact('wasted', words.join('; ') || t('inspect.noWaste'), from.join(', '), from.length ? frame.step : undefined);
}

function number(key, value, from, step, why) {
  return typeof value === 'number' ? fact(key, value.toFixed(4), from, step) : absent(key, from, why);
}
