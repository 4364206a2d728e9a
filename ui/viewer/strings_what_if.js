// The words of "what if"; part of the table in strings_en.js.

export const WHAT_IF = {
  title: 'What if another token stood here?',
  about: 'Every lane runs again, live: row {row} goes on from its text up to here and the token that you choose; the other rows start from their prompts again.',
  aboutOne: 'Every lane runs again, live: the row goes on from its text up to here and the token that you choose.',
  best: 'the target’s choice', second: 'the target’s second choice', draft: 'the rejected draft', lane: '{lane}’s token here',
  none: 'The trace names no other token here with which the row would go on.',
  typed: 'Any other token', hint: 'its text, a leading space included, or # and an id: #314', go: 'Go on from it',
  file: 'Not offered for a file that was dropped here: a run would need its text, and the file does not leave this machine. Open a recorded run, or run its prompts under “Your prompts”.',
  saved: 'Not offered in a saved page: there is no server that could compute it.',
  starting: 'Starting…', noServer: 'No server answers that could compute it.', refused: '{error}: {works}.',
  changed: 'What if: row {row}, {token} instead of {instead} at token {n}, then on.',
  given: 'Row {row} is given its prompt and', others: 'The other rows start from their prompts.', from: 'Taken from {lane}:', original: 'the run without the change',
};
