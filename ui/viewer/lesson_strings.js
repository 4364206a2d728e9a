// Every word of the chapters. Another language is another table of the same shape: setLessonStrings(table).
// Few of them: whoever answers right reads at most 1,100 in all eight chapters. A test counts them in the browser.

const EN = {
  open: 'Why? {n} short chapters', numbers: ['no', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten'],
  panel: 'Chapters', place: '{n} of {all}', chapter: 'Chapter {n}: {title}', chapterDone: 'Chapter {n}: {title} (done)',
  stages: { predict: 'predict', act: 'do', check: 'check', why: 'why' },
  next: 'Next', back: 'Back', leave: 'Leave', skip: 'Show the answer', finish: 'Back to the run', nextChapter: 'Next: {title}', keys: 'N next, B back, Esc leaves',
  right: 'Right.', wrong: 'Not so.', skipped: 'The answer: {answer}.', bet: 'Bet: “{bet}”.', betRight: 'Right bet.', betWrong: 'Bet “{bet}”: wrong.', cleared: 'Cleared.',
  noTrace: 'This chapter’s recorded run could not be loaded ({why}). Try again.', cannot: 'This recorded run does not show what this chapter needs.',
  and: ', ',
  key: 'Answer key', keyNote: 'Computed from the recorded runs on this page.', print: 'Print',

  rank: { harmless: 'harmless', harmful: 'harmful', rounding: 'rounding', bug: 'bug', show: 'Show it on the stage' },

  row: {
    title: 'One row',
    lead: 'Each round a drafter guesses {k} tokens; one model pass checks them. EQSPEC does so for many prompts.',
    predict: 'Round {round}, row {row}: the drafts are {words}. How many are accepted?',
    more: 'Drafts are accepted only up to the first one that the model would not have chosen.',
    fewer: 'Every draft up to the first difference is accepted, not just one.',
    act: 'Step to round {round} (▶❙ below, or →).', elsewhere: 'That is round {step}. The bet was about round {round}.',
    shown: '{j} of {k} are accepted.',
    check: 'Round {round}, row {row}: all {k} are accepted. How many tokens come out?',
    tooFew: 'One pass checks all drafts at once; it is not one pass per token.', noBonus: 'The pass also says what follows the last draft: one token on top.', tooMany: 'One pass yields one choice after each token it was fed, and only one of them is new text.',
    because: { predict: 'Draft {next}, {word}, is rejected: the model chose {choice} there.', check: 'The {k} drafts and the model’s own token (bonus) {bonus}.' },
    why: 'Only what the model itself would write is accepted: same text as the row run alone, fewer passes. j accepted drafts give j + 1 tokens.',
  },
  cleanup: {
    title: 'Clean up',
    lead: 'Memory holds a KV entry (key, value) for each token that later ones read.',
    predict: 'Round {round} feeds row {row}’s last token and {k} drafts, and accepts {j}. How many KV entries are written?',
    vanish: 'Rejected drafts do not vanish: their KV was written with the others.', refed: 'The last token counts too: it had no KV yet, so it was fed again.', every: 'One entry for every token that was fed, no more.',
    shown: '{n} entries were written.',
    act: 'Cut off what later tokens must not read.', edge: 'Keep up to here', over: 'fed', under: 'chosen there', cut: 'Cut here',
    keepsBad: 'The entry of {word} would stay, though the model chose {choice} there.', losesGood: 'The entry of {word} was verified. Its KV is right: keep it.', losesOld: 'The entry of {word} is older text. Keep it.',
    done: '{n} rejected entries are gone.', matched: '{word} was chosen too, but follows a rejected token.',
    check: 'Which token of row {row} has no KV entry yet?', none: 'none', fed: '{word} was fed in this pass, so its KV was written.', notFed: 'The newest token was chosen by this pass, not fed to it.', gone: '{word} was rejected: it is no token of this row.',
    because: { predict: 'Each of the {fed} tokens fed gets an entry.', predictOther: 'So many does this trace hold for {fed} fed tokens.', check: 'Chosen by this pass in place of {rejected}, not fed to it.', checkOther: 'In this trace even the newest token has an entry.' },
    why: 'Rejected entries stay until cut off. The newest token gets its entry when fed, next round.',
  },
  rectangle: {
    title: 'The rectangle',
    lead: 'A batch is a rectangle: a mask hides the pads (filler) of shorter rows.',
    predict: 'Another run: row {row} has {pads} pads. What becomes of its text?',
    same: 'The same as alone', words: 'Other words', broken: 'Rubbish', corrupts: 'Padding alone changes nothing: a masked pad has no weight at all.', notSame: 'In this run the padded row differs.',
    act: 'Let the model see the pads.', show: 'Unmask the pads',
    shown: 'Read as words, they turn row {row}’s {expected} into {actual}.', survived: 'Even seen, they changed no word of row {row}.',
    check: 'Masked again, but counted: row {row}’s positions start {pads} higher. Which kind notices?',
    nobody: 'None', learned: 'Learned (GPT-2)', rotary: 'Rotary (this one)', all: 'Both',
    rotaryNo: 'Rotary attention only uses differences of positions, and these stay: {n} of {n} tokens are equal.', learnedYes: 'A learned table has one vector per position: {pads} further on is another vector.', rotaryYes: 'In this run the shifted row differs.', half: 'Half right. Rotary positions do not: they only use differences, and all {n} tokens stayed equal.',
    label: 'Learned: one vector per position (arithmetic; GPT-2 did not run). Rotary: angles, compared by difference.',
    because: { predict: 'A masked pad has no weight: all {checked} tokens equal the row run alone.', check: 'Differences stay: all {n} tokens equal. Learned vectors {offset} further on are others.', checkOther: 'In this run the shifted row differs, and a learned table has another vector {offset} further on.' },
    why: 'Masked pads do no harm. Counted in front, they shift all positions alike, which only learned positions notice.',
    wild: 'Reported for GPT-2:',
  },
  crop: {
    title: 'One cut for all',
    lead: 'If no row may move in memory, one cut must serve all rows.',
    predict: 'The rows accept {list} of {k} drafts. Where does one cut drop exactly the rejected?',
    min: 'At the smallest count', max: 'At the largest count', no: 'Nowhere', loses: 'At the smallest count, the rows that accepted more lose good drafts.', keeps: 'At the largest, the rows that accepted fewer keep rejected drafts.', agrees: 'Here all rows accept equally many: that cut suits all.',
    act: 'Keep nothing rejected, and lose as little as possible.', edge: 'One cut for all rows', cut: 'Cut here', rowKeeps: 'Row {row} would keep {word}, which it rejected.', losesMore: 'That throws away more than needed: further right still holds nothing rejected.',
    done: 'The slowest row decides: {list}.', lost: 'row {row} loses {n}',
    check: 'Round {round} accepts {list}. How many accepted drafts would one cut discard?', checkOther: 'Another round accepts {list}. How many accepted drafts would one cut discard?',
    notFree: '“Just take the minimum” is not free: every row loses what it accepted beyond it.', notOne: 'Not just the best row: all rows’ losses count.', notRejected: 'Rejected drafts are lost anyway. Count the accepted ones.', miscount: 'Add up each row’s accepted drafts beyond the smallest count.',
    because: { predict: 'Further right, a rejected draft would stay.', check: 'Beyond the smallest count, {min}: {sum} = {discarded}.' },
    why: 'One cut for all is exact but wastes verified work; a cut per row leaves unequal lengths.',
  },
  shortcut: {
    title: 'The tempting shortcut',
    lead: 'BSP moves nothing: it masks rejected drafts (dead slots) and goes on after them.',
    predict: 'Row {row} accepts {j} of {k} drafts, {last} at position x. Where does BSP put the next token?', at: 'x + {n}', lastDraft: 'the last', lastToken: 'its last token',
    gone: 'Masked is unseen, not gone: BSP counts slots, and the dead ones keep theirs.', other: 'Count the dead slots in between, then one more.',
    shown: 'It goes to x + {step}, not x + 1.',
    act: 'Step on (→) until a gap holds rejected (crossed) drafts; dots are pads. Click it.',
    whole: 'EQSPEC’s ribbon has no gap. Look at BSP’s.', pads: 'That gap is pads: BSP counts them too. Find one with a crossed draft in it.', later: 'Such a gap, but not the first: look in an earlier round.', noGap: 'No gap is in front of that token.',
    done: 'There, in round {round}: +{size}.',
    check: 'Row {row}’s accepted tokens end at {x}. Where does BSP put the next, and where should it?', pair: '{a} and {b}',
    maskedGone: 'It should, but BSP’s positions count the dead slots.', noFault: 'The next token should be one position after the last accepted one.', unsure: 'Only the rejected drafts lie in between: accepted ones are tokens and have positions of their own.',
    because: { predict: 'In row {row} BSP counts the dead slots: {size} + 1 = {step}.', check: 'Tokens alone: {due}, as in EQSPEC. With dead slots: {x} + {size} + 1 = {fed}.' },
    why: 'Masks hide dead slots, but BSP’s position ids count them{padsToo}: its ribbon of cells tears.',
    padsToo: ', and pads after the prompt (row {row}: +{size})',
  },
  defect: {
    title: 'Which defect?',
    lead: 'Something in BSP breaks its text: four suspects.',
    predict: 'Which one, repaired alone, heals every row?', pads: 'Pads', holes: 'Dead slots', masks: 'Masks', positions: 'Position ids',
    clear: {
      pads: 'BSP’s row {row} has no pads between prompt and answer, and goes wrong at token {n} all the same.',
      holes: 'BSP’s row {row} goes wrong at token {n}, before it has any dead slot.',
      masks: 'EQSPEC masks pads too ({n} in row {row}), and its text is whole.',
    },
    unclear: 'No row of this run clears that one: see what the others do.',
    done: 'Repaired: {equal} of {rows} rows equal; before, {before}.',
    act: 'Question each suspect.', cleared: '{what}: cleared',
    check: 'Harmless or harmful to the row’s text?',
    itemPads: 'EQSPEC, row {row}: {n} masked pads in front', itemHoles: 'BSP repaired, row {row}: {n} masked slots between tokens', itemGaps: 'BSP, row {row}: position gaps {n}',
    missHarmless: '{item}: its text equals the row run alone, so that is harmless.', missHarmful: '{item}: it differs from token {n} on. That is harmful.',
    because: { predict: 'Pads, dead slots and masks all stayed.', check: 'Masked slots harm only where counting them changes distances: BSP, row {row}, from token {n}.', checkOther: 'By their texts: {list}.' },
    why: 'So it is the positions: behind a gap, all earlier text seems too far away.',
    wild: 'The same bug elsewhere:',
  },
  realign: {
    title: 'Unpad, append, repad',
    lead: 'EQSPEC ends a round: each row keeps its own accepted drafts, then all fill a rectangle again.',
    predict: 'Row {row}’s {c} KV entries change slots. What happens to their keys?',
    copied: 'Copied', rotated: 'Rotated again', recomputed: 'Computed again',
    notRotated: 'Keys are rotated by position, not slot: the newest is at position {position} before and after.', notRecomputed: 'No pass ran for it: every entry kept its token and position.', notCopied: 'In this run the moved entries do not have the positions and tokens that they had.',
    act: 'Set delta, row {row}’s change of pads, so that it fills L = {width} slots like the longest row.', unpad: 'unpad: p = {pads} pads off', append: 'append: c = {had} + 1 fed + {kept} accepted = {c} entries', repad: 'repad: L − c pads; delta = (L − c) − p', delta: 'Delta, the change of the row’s pads', move: 'Move it',
    pads: '{n} pads', content: 'c = {n}', sum: '✓ ({p} {sign} {delta}) + {c} = {total} = L', sumNot: '({p} {sign} {delta}) + {c} = {total}; L = {width}',
    tooNarrow: 'Pads and entries make {sum}: the row ends short of slot {width}, its next token in another column.', tooWide: 'Pads and entries make {sum}: the row sticks out of a batch of {width}.',
    done: 'Delta = ({width} − {c}) − {pads} = {signed}.',
    check: 'All {rows} rows accept {j}. How many change slots?',
    notAll: 'All rows and L grew by {grown}: every delta is 0.', notOthers: 'Only differences between rows move anything, and here there are none.', theyDo: 'In this run rows moved all the same.',
    because: { predict: 'Token and position stay, so a copied key fits.' },
    why: 'Rows that grow unequally move: in round {round} row {row} by {signed}, row {still} by 0. The copy takes all rows: {each} = {entries} entries ({size} MB).',
  },
  equal: {
    title: 'Is it really equal?',
    lead: 'Exact means the same tokens as alone, but {dtype} numbers are rounded.',
    rule: 'Rounding: in the batch both tokens’ scores (logits) moved at most {noise}; alone, one led by at most {twice}.',
    invariant: 'Bug: more than that, or a broken rule (invariant), say a position gap.',
    run: 'Run {letter}', leads: '{expected} leads {actual} by {gap}', tie: '{expected} and {actual} are tied',
    predict: 'How many of EQSPEC’s {rows} rows equal the row run alone?',
    fewer: 'A batch adds numbers in another order than a single row, and that decides a near tie.', more: 'Rounding decides only where two tokens are as good as equal; most choices are clear.',
    shown: '{equal} of {rows} rows are equal.',
    act: 'One token differs: rounding or bug?', item: '{run}, row {row}: lead {gap}, moved {apart}',
    isTie: '{item}Small lead, small move, no invariant broken: rounding.', isBug: '{item}{why}: a bug.',
    moved: 'Rounding moves them by at most {noise}', led: 'A lead of at most {twice} is rounding', broke: 'an invariant is broken: {what}, round {round}{fed}',
    done: '{lanes}.', sorted: '{letter}: {lane}',
    check: 'Row {row}, token {n}: alone, {lead}; moved by {apart}; {invariants}. Verdict?', holds: 'no invariant broken',
    rounding: 'Rounding', bug: 'A bug', unknown: 'Nobody knows', known: 'It is known: the lead, and how far rounding moves a logit, were both measured.',
    because: { predict: 'A batch adds in another order; near ties flipped: {near}.', predictAll: 'No row came to a choice so close that rounding decides it.' },
    why: 'Where texts agreed, logits moved by at most {noise}. Leader down, rival up: rounding can undo a lead of {twice}.',
  },
};

let table = EN;

export function setLessonStrings(other) {
  table = { ...EN, ...other };
}

/** The words at `key` ("row.title"), with their {values} filled in. */
export function say(key, values = {}) {
  const found = key.split('.').reduce((node, part) => node?.[part], table);
  return String(found ?? '').replace(/\{(\w+)\}/g, (whole, name) => (name in values ? String(values[name]) : whole));
}

/** Small numbers in words: "six". */
export const inWords = (n) => table.numbers[n] ?? String(n);

/** All words of a chapter's own prose, as they stand on the page. */
export const proseOf = (key, values) => [say(`${key}.lead`, values), say(`${key}.why`, values)];
