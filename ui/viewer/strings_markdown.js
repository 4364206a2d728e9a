// The words of a comparison as Markdown; part of the table in strings_en.js.

export const MARKDOWN = {
  copy: 'Copy as Markdown', copied: 'Copied as Markdown.',
  title: '{lane} against the row run alone: {equal} of {rows} rows equal', trace: 'Trace: {name}, {date}', link: 'View: {url}',
  model: 'Model: {model}, {dtype} on {device}', versions: 'Versions: {list}', method: 'Method: {method}; faults: {faults}; {rest}', none: 'none',
  row: 'Row {row}: {verdict}', prompt: 'Prompt, {n} tokens', alone: 'Alone', unknown: 'known up to the first difference',
  violation: 'First violated invariant: {invariant} in round {step}, slot {slot}: expected {expected}, actual {actual} ({message})', noViolation: 'No invariant was violated.',
  wrong: 'First different token: {n}, in round {step}: expected {expected}, actual {actual}', ended: 'nothing (this side had ended)',
  logits: 'Logits of these two there: alone {a} and {b}; {lane} {c} and {d}', noise: 'Rounding was measured to move a logit by {noise} in this run.',
};
