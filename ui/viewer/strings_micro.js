// The words of the microscope; part of the table in strings_en.js.

export const MICRO = {
  open: 'Look inside', title: 'Inside round {step}', titlePrefill: 'Inside round 0: the prompts are read',
  nothing: 'Nothing is copied.', idle: 'did not decode in this round',
  stage: { found: 'found', before: 'before', unpad: 'unpad', append: 'append', repad: 'repad', written: 'written', after: 'after' },
  why: {
    found: 'what the round before left, rejected drafts still in it', before: 'what the model reads', unpad: 'pads off', append: 'its last token and accepted drafts on, rejected ones off', repad: 'pads on again', written: 'what the forward wrote', after: 'what the next round reads',
  },
  rectangle: '{p} + {c} = {sum}', equalsL: ' = L', notL: ', but L = {width}', content: 'c = {c}', grown: 'c = {c} + {n} = {sum}', holes: '{c} seen, {holes} hidden', found: 'c = {c}, {holes} rejected',
  lost: { one: '{n} entry gone', other: '{n} entries gone' }, padsSeen: { one: '{n} pad seen', other: '{n} pads seen' },
  delta: 'delta {delta}', stays: 'stays', left: 'ended: its entries leave the batch',
  row: 'Row {row}: {stages}', step: '{stage}: {facts}',
  letters: 'p: pads in front. c: the row’s entries. L: the batch’s width. delta: new p minus old p.',
  key: { pad: 'pad', kept: 'kept', fresh: 'new this round', rejected: 'rejected', hole: 'dead slot (hidden)', filler: 'unused draft slot' },
};
