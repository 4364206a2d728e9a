// The words of the panel that checks a dropped trace; part of the table in strings.js.

export const DROP = {
  open: 'Check a trace', title: 'Check a trace of any engine',
  zone: 'Drop a trace here, or', choose: 'choose a file',
  stays: 'JSON lines. It is read and checked in this browser; the file does not leave this machine.',
  reading: 'Reading {name}: {percent} %', large: '{name} has {size} MB; at most {most} MB are read here. Without the page: python -m engine inspect {name}',
  notText: 'it is not UTF-8 text', refused: '{name} cannot be read: {why}.', unreadable: 'the browser cannot open it',
  tooMany: 'Checked to the end, but too large to be drawn here.',
  asked: 'This link leads into the file {name}, which is on somebody’s machine: drop it here to see it at round {step}.',
  other: 'This is not the file that the link was made from (another digest).',
  clean: 'no invariant broken', broken: '{what} broken', steps: { one: '{n} step checked', other: '{n} steps checked' },
  unchecked: 'not recorded far enough to check: {steps}', unended: 'the lane has no end',
  first: 'First violation', head: ['Row', 'Round', 'Slot', 'Expected', 'Actual'], noSlot: 'none',
  show: 'Show it', link: 'Copy link', linkCopied: 'Link copied. Who opens it is asked for the file.', json: 'Copy as JSON', jsonCopied: 'JSON copied.', save: 'Save as JSON',
  later: 'Later rounds of the row, which rest on it: {steps}.', inAll: 'In all, once per row: {list}.',
  differ: { one: 'The trace’s own violation events differ from this check in {n} place.', other: 'The trace’s own violation events differ from this check in {n} places.' },
  means: {
    kv: 'Every committed token but the newest has one visible entry in the cache, with its own token id.',
    contiguity: 'Positions go up by one from token to token, whatever lies between them in memory.',
    mask: 'The mask shows exactly the committed tokens: no pad, no stale entry, none missing.',
    input: 'The forward is fed the last committed token and then the row’s drafts, in order.',
    emission: 'What a row emits is what the target chose at that place.',
    rectangle: 'Pads and content of every row add up to the batch’s width.',
  },
  writer: 'From your own engine', writerNote: 'Twenty lines of Python write such a file:', copy: 'Copy', copied: 'Copied.',
  claim: '{name}, checked here.', claimClean: '{lane}: no invariant broken in {steps}.', claimBroken: '{lane}: {what} broken in round {step}, row {row}.',
  gist: 'Checked in this browser against six invariants of batch decoding. The file has not left this machine.',
};
