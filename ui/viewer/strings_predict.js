// The words of "break it yourself"; part of the table in strings_en.js.

export const PREDICT = {
  title: 'Break it yourself', fault: '{lane} runs with one fault: {what}.', ask: 'Which invariant will light first? Choose before you look.',
  none: 'None', noneMeans: 'The fault breaks nothing that the six invariants watch.',
  bet: 'Your bet: {bet}.', right: 'Yes.', wrong: 'Not so.', waiting: 'Nothing has lit yet.',
  lit: 'First lit: {what}, in round {step}.', nothing: 'The run is over and no invariant was broken.',
  text: 'Of its texts, {equal} of {rows} equal the row run alone.', show: 'Show it',
};
