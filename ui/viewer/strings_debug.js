// The words of the debugger, which compares token by token; part of the table in strings_en.js.

export const DEBUG = {
  open: 'Compare token by token', openRow: '{row}: compare token by token', title: '{lane} beside the row run alone, token by token',
  stopEmpty: 'Stop when a row accepts nothing', stopped: 'Stopped in round {step}: {lane}, row {row} accepts none of its {n} drafts.',
  token: 'token', alone: 'alone', none: 'nothing', at: '{from}, step {step}',
  lines: 'Above: the row run alone. Below: {lane}.', knownFrom: 'The upper line is {lane}’s, which equals the row run alone.',
  knownPart: 'Of the row run alone this trace knows the tokens up to the first difference.',
  strip: '{lane}, row {row}, beside the row run alone', pair: 'token {n}: alone {alone}, {lane} {actual}: {state}',
  state: {
    whole: 'equal', torn: 'torn but still right', wrong: 'first wrong', tie: 'rounding tie', later: 'after the difference: not compared', unknown: 'not compared yet',
  },
  nothingBroken: 'no invariant broke', brokenEqual: 'The text survived it.',
  violated: {
    contiguity: 'slot {slot} is fed at position {actual}; {expected} was due', kv: 'slot {slot}: expected {expected}, found {actual}',
    mask: 'the mask at slot {slot} is {actual}; {expected} was due', input: 'slot {slot}: fed {actual}; {expected} was due',
    emission: 'emitted id {actual}; the target chose {expected}', rectangle: '{actual} pads; {expected} were due',
  },
  torn: { one: '{n} token torn but still right', other: '{n} tokens torn but still right' },
  tornWhy: 'chosen after that, and the same as alone',
  toWrong: 'first wrong: token {n}, round {step}', toTie: 'rounding tie: token {n}, round {step}',
  gaps: '{sum} too far there, in {n}', noGaps: 'no gap was heard there',
  scales: 'The target’s best two there', scalesHead: ['', 'first: token, id, logit', 'second', 'lead', 'from'],
  noLogits: 'No logits: compare.logits and verify.top2 carry them where both sides have a token.',
  itsToken: '({lane}’s token)', now: 'written in this round',
  leads: 'Alone, {expected} leads {actual} by {alone} logits; in {lane} {actual} leads by {own}. Between the two runs these logits differ by up to {apart}.',
  leadsLeast: 'Alone, {expected} leads {actual} by {alone} logits; in {lane} {actual} leads by at least {own}, and {expected} is not among the best two. Between the two runs these logits differ by at least {apart}.',
  noTie: 'Rounding was measured to move a logit by {noise} in this run (compare.noise), {times} times less: not rounding.',
  tie: 'Rounding was measured to move a logit by {noise} in this run (compare.noise): a tie that rounding decides, not a bug.',
  noNoise: 'How far rounding moves a logit was not measured in this run (compare.noise).',
};
