// Every word of the chapters. Another language is another table of the same shape: setLessonStrings(table).
// A chapter's `lead` and `why` together have at most 60 words; a test counts them.

const EN = {
  open: 'Why? {n} short chapters', numbers: ['no', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten'],
  panel: 'Chapters', place: '{n} of {all}', chapter: 'Chapter {n}: {title}', chapterDone: 'Chapter {n}: {title} (done)',
  stages: { predict: 'predict', act: 'do', check: 'check', why: 'why' },
  next: 'Next', back: 'Back', leave: 'Leave', skip: 'Skip', finish: 'Back to the run', nextChapter: 'Next: {title}', keys: 'N next, B back, Esc leaves',
  right: 'Right.', wrong: 'Not so.', skipped: 'The answer: {answer}.', bet: 'Your bet was “{bet}”.', betRight: 'Your bet “{bet}” was right.', betWrong: 'Your bet “{bet}” was wrong.', cleared: 'Cleared.',
  noTrace: 'This chapter’s recorded run could not be loaded ({why}).', cannot: 'This recorded run does not show what this chapter needs.',
  and: ', ', wild: 'In the wild:',
  key: 'Answer key', keyNote: 'Computed from the recorded runs on this page.', print: 'Print',

  rank: { harmless: 'harmless', harmful: 'harmful', rounding: 'rounding', bug: 'a bug', sure: 'Check', show: 'Show it on the stage' },

  row: {
    title: 'One row',
    lead: 'A drafter guesses {k} tokens{how}; one model pass verifies them all. EQSPEC and BSP batch this.', copies: ' by copying earlier text',
    predict: 'Round {round}, row {row}: the draft goes on with {words}. How many of the {k} survive?',
    more: 'Drafts are kept only up to the first one that the model would not have chosen.',
    fewer: 'Every draft up to the first difference is kept, not just one.',
    act: 'See for yourself: step to round {round}, with ▶❙ under the rows, or the → key.', elsewhere: 'That is round {step}. The bet was about round {round}.',
    shown: '{j} of {k} survived.',
    check: 'In round {round}, all {k} drafts of row {row} survive, in one pass. How many tokens come out?',
    tooFew: 'One pass checks all drafts at once; it is not one pass per token.', noBonus: 'The pass also says what follows the last draft: a token on top, the bonus token.', tooMany: 'One pass yields one choice after each token it was fed, and only one of them is new text.',
    because: { predict: 'Draft {next}, {word}, did not: the model chose {choice} there.', check: 'The {k} drafts and the bonus token {bonus} (ringed): the pass also chose what follows the last draft.' },
    why: 'One pass equals step-by-step decoding: each position sees only what came before. The model’s choice replaces the first draft that differs; if all survive, it comes on top: the bonus token. So j survivors give j + 1.',
  },
  cleanup: {
    title: 'Clean up',
    lead: 'Memory holds an entry for each token that later ones may read: its key and value (KV).',
    predict: 'Round {round}, row {row}: the pass is fed the row’s last token and {k} drafts; {j} survive. How many KV entries does this pass write for the row (not: how many stay)?',
    vanish: 'Rejected drafts do not vanish: their KV was written with the others.', refed: 'The last token counts too: it had no KV yet, so it was fed again.', every: 'One entry for every token that was fed, no more.',
    shown: '{n} entries were written.',
    act: 'Row {row}’s newest entries. Set the edge with the slider so that just those stay that later tokens may read: everything to its right is thrown away.', edge: 'Keep up to here', over: 'fed', under: 'model chose', cut: 'Cut here',
    keepsBad: 'The entry of {word} would stay, though the model chose {choice} there: later tokens would read it.', losesGood: 'The entry of {word} was verified. Its KV is right: keep it.', losesOld: 'The entry of {word} is committed text. Keep it.',
    done: 'Cut: {n} rejected entries are gone.', matched: '{word} also fits what the model chose there, but that choice was made behind a rejected token: for a text that nobody writes.',
    check: 'Which token of row {row}’s text has no KV entry now?', none: 'none', fed: '{word} was fed in this pass, so its KV was written.', notFed: 'The newest token was chosen by this pass, not fed to it.', gone: '{word} was rejected: it is no token of this row.',
    because: { predict: 'The row’s last token and all {k} drafts were fed, and a pass writes KV for whatever it is fed.', predictOther: 'So many does this trace hold for {fed} fed tokens.', check: '{newest} was chosen by this pass, not fed to it: the next pass feeds it and writes its KV.', checkOther: 'In this trace even the newest token has an entry.' },
    why: 'Nothing removes rejected entries by itself; EQSPEC cuts them off. {newest}, the newest token, has no entry yet: the model chose it in place of {rejected}, the first rejected draft, and the next pass feeds it first.',
  },
  rectangle: {
    title: 'The rectangle',
    lead: 'A batch is a rectangle. Shorter rows get pads in front (tokens that mean nothing) and a mask that hides them.',
    predict: 'Another recorded run: row {row} has {pads} pads in front. What becomes of its text, against the row run alone?',
    same: 'The same', words: 'A few other words', broken: 'Rubbish', corrupts: 'Padding alone does not change the text: a masked pad has no weight at all.', notSame: 'In this run the padded row differs.',
    act: 'Now let the model see the pads.', how: 'The run with visible pads uses DSD, a method that keeps no KV and feeds whole rows again each round. Visible pads are its only fault.', show: 'Unmask the pads',
    shown: 'Seen, they count as words: row {row} writes {actual}; alone, it writes {expected}.', survived: 'Even seen, they changed no word of row {row}.',
    check: 'Masked again, but now the position ids count the pads: every position of row {row} is {pads} higher. Which models notice?',
    nobody: 'None', learned: 'Only learned positions (GPT-2)', rotary: 'Only rotary positions (this one)', all: 'All',
    rotaryNo: 'Rotary attention only uses differences of positions, and these stay: {n} of {n} tokens are equal.', learnedYes: 'A learned table has one vector per position: {pads} further on is another vector.', rotaryYes: 'In this run the shifted row differs.', half: 'Half right. Learned ones do: {pads} further on their table has another vector. Rotary ones do not: all {n} tokens of this run stayed equal.',
    label: 'The rotary answer is from this recorded run; the one on GPT-2 is arithmetic, no model.',
    because: { predict: 'A masked pad has no weight at all: over the whole run, all {checked} tokens are those of the row run alone.', check: 'Rotary attention only uses differences of positions: all {n} tokens of the run stayed equal. A learned table has another vector {offset} further on.', checkOther: 'In this run the shifted row differs, and a learned table has another vector {offset} further on.' },
    why: 'Masked pads in front do no harm. Counted, they shift all positions alike: rotary positions (RoPE) do not notice, learned ones (GPT-2) do. BSP’s pads stand between prompt and answer and are counted: that distance changes.',
  },
  crop: {
    title: 'Nobody agrees where to crop',
    lead: 'Without moving anything, one rectangle has one right edge, and so one cut for all its rows.',
    predict: 'In round {round} EQSPEC’s rows keep {list} of {k} drafts. Is there one cut that drops every rejected draft and no kept one?',
    min: 'Yes, at the smallest', max: 'Yes, at the largest', no: 'No', loses: 'At the smallest count, the rows that kept more lose accepted drafts.', keeps: 'At the largest, the rows that kept fewer keep rejected drafts.', agrees: 'Here all rows keep equally many: that cut suits all.',
    act: 'Cut so that no rejected draft stays, and no more is lost than must be.', edge: 'One cut for all rows', cut: 'Cut here', rowKeeps: 'Row {row} would keep {word}, which it rejected.', losesMore: 'That throws away more than needed: further right still holds nothing rejected.',
    done: 'The slowest row decides: {list}.', lost: 'row {row} loses {n}',
    check: 'Such a cut for all is called rollback. In round {round} {lane}’s rows keep {list} of {k} drafts. How many accepted drafts would a rollback discard there?',
    notFree: '“Just take the minimum” is not free: every row loses what it kept beyond it.', notOne: 'Not just the best row: all rows’ losses count.', notRejected: 'Rejected drafts are lost anyway. Count the accepted ones.', miscount: 'Add up each row’s kept drafts beyond the smallest count.',
    because: { predict: 'No: at {min}, the smallest count, rows lose accepted drafts; at any other a rejected one stays.', check: 'What the rows kept beyond the smallest count, {min}: {sum} = {discarded}.' },
    why: 'Rollback is correct, but the slowest row decides for all, every round. Let each row keep its own count, and the right edge is ragged. Something must give: verified work, positions, or a copy.',
  },
  shortcut: {
    title: 'The tempting shortcut',
    lead: 'BSP leaves every entry in its slot: it masks the rejected drafts and goes on behind them.',
    predict: 'Row {row} keeps {j} of {k} drafts in round {round}; the others are masked. How many positions after {last} is the model’s own next token fed?', lastDraft: 'the last kept draft', lastToken: 'the row’s last token',
    gone: 'Masked is unseen, not gone: BSP counts slots, and the dead ones (masked drafts) keep theirs.', other: 'Count the dead slots (masked drafts) in between, then one more.',
    shown: 'Row {row}: the next token is fed {step} positions after {last}, instead of 1.',
    act: 'Go to the first round in which a rejected draft leaves BSP a gap; click such a gap or the word after it. The mark “first gap opens” is about the pads.',
    whole: 'EQSPEC’s ribbon has no gap. Look at BSP’s.', pads: 'That gap is pads: BSP counts them too. Find one with a crossed draft in it.', later: 'Such a gap, but not the first: look in an earlier round.', noGap: 'No gap is in front of that token.',
    done: 'There: +{size} in row {row}, round {round}.',
    check: 'BSP, row {row}, round {round}: the last kept token stands at {x} on the ruler, and no gap comes before it. Where is the next token fed, and where should it be?', pair: 'at {a}; it should be {b}',
    maskedGone: 'It should, but BSP’s positions count the dead slots.', noFault: 'The next token should be one position after the last kept one.', unsure: 'Only the rejected drafts lie in between: kept drafts are tokens and have positions of their own.',
    because: { predict: 'BSP counts the dead slots in between: {size} and 1 make {step}.', check: 'Tokens alone count on to {due}, where EQSPEC, above, has it; BSP counts the dead slots too: {x} + {size} + 1 = {fed}.' },
    why: 'Attention skips the rejected drafts, but the positions count them{padsToo}: the next token hears everything before the gap from too far away. Nothing crashes; the text just drifts.',
    padsToo: ', and the pads after the prompt (row {row}: +{size})', padsAlone: ', and the pads after the prompt (row {row}: +{size}, by itself enough)',
  },
  defect: {
    title: 'Which defect?',
    lead: 'BSP’s rows have pads, dead slots, masks and torn positions. Which of these breaks the text?',
    predict: 'Which single repair of BSP would heal every row?', pads: 'No pads', holes: 'No dead slots', masks: 'No masks', positions: 'Whole positions',
    clear: {
      pads: 'BSP’s row {row} has no pads between prompt and answer, and goes wrong at token {n} all the same.',
      holes: 'BSP’s row {row} goes wrong at token {n}, before it has any dead slot.',
      masks: 'EQSPEC masks pads too ({n} in row {row}), and its text is whole.',
    },
    unclear: 'No row of this run clears that one: see what the others do.',
    shown: 'Only the positions were repaired: {equal} of {rows} rows equal the row run alone; before, {before} did.',
    act: 'Question the suspects: the stage shows the row that clears one, or the repair that convicts it.', suspect: { pads: 'Pads', holes: 'Dead slots', masks: 'Masks', positions: 'Positions' },
    check: 'Three rows; press one to see it. Is what it has harmless, or harmful to its text?',
    itemPads: 'EQSPEC, row {row}: {n} masked pads in front', itemHoles: 'BSP repaired, row {row}: {n} slots without a token inside', itemGaps: 'BSP, row {row}: positions count slots without a token (pads, rejected drafts): gaps {n}',
    missHarmless: '{item}: its text equals the row run alone, so that is harmless.', missHarmful: '{item}: it differs from token {n} on. That is harmful.',
    because: { predict: 'Pads, dead slots and masks all stayed as they were.', check: 'Masked slots without a token leave the text whole; where positions count them (pads or rejected drafts) it differs, here from token {n} on.', checkOther: 'By their texts: {list}.' },
    why: 'Repaired, BSP keeps every pad, mask and dead slot and heals: so it is the positions. Pads and dead slots harm only where position ids count them. Such ids have broken real projects, too.',
  },
  realign: {
    title: 'Unpad, append, repad',
    lead: 'Every row keeps its own count of drafts, so the right edge is ragged. EQSPEC makes it a rectangle again.',
    predict: 'Round {round}: row {row}’s {c} KV entries end up in other slots. What happened to their keys?',
    copied: 'Copied as they are', rotated: 'Rotated to the new place', recomputed: 'Computed again',
    notRotated: 'A key is rotated by its token’s position, not its slot: the newest entry is at position {position} before and after.', notRecomputed: 'No forward ran for it: every entry has the token and position that it had.', notCopied: 'In this run the moved entries do not have the positions and tokens that they had.',
    act: 'Find delta for row {row} in round {round}: its pads and entries must fill L = {width} slots, as row {longest}’s do.', rule: 'c: the row’s entries after appending. L: the longest row’s c. p: its pads before. Delta = (L − c) − p, this round’s move.', unpad: 'unpad: p = {pads} pads off, {had} entries stay', append: 'append: what this round fed and kept, {got} more: c = {c}', repad: 'repad: p + delta pads in front', delta: 'Delta, the shift of the row', move: 'Move it',
    pads: '{n} pads', content: 'c = {n}', sum: '✓ ({p} {sign} {delta}) + {c} = {total} = L', sumNot: '({p} {sign} {delta}) + {c} = {total}; L = {width}',
    tooNarrow: 'Pads and entries make {sum}: the row ends short of slot {width}, and its next token would land in another column than the others’.', tooWide: 'Pads and entries make {sum}: the row sticks out of a batch of {width}.',
    done: 'Delta = ({width} − {c}) − {pads} = {signed}. “KV move” below shows the copy.',
    check: 'Round {calmRound} of EQSPEC: all {rows} rows accept {j}. How many of them move?',
    notAll: 'All grew by {grown}, and so did L: no row’s pads change, every delta is 0.', notOthers: 'Only differences between rows move anything, and here there are none.', theyDo: 'In this run rows moved all the same.',
    because: { predict: 'Token and position of every entry are as before, so every key’s rotation is right already.' },
    why: 'Round {round}: row {row} moves by {signed}, row {still} by 0; a row that grew more than L did moves left (delta below 0). If any row moves, the copy takes all rows’ {entries} entries ({bytes} bytes).',
  },
  equal: {
    title: 'Is it really equal?',
    lead: 'Exact means: the same tokens as the row run alone, were arithmetic exact. In {dtype} it is not.',
    rule: 'Rounding: the two logits moved by at most {noise}, and the lead between them was at most {twice}. Otherwise, or with an invariant broken: a bug.',
    invariant: 'Invariant: a rule that every correct engine keeps in every round. For instance, a token’s position is one more than that of the token before it.',
    run: 'Run {letter}', leads: '{expected} leads {actual} by {gap}', tie: '{expected} and {actual} are tied',
    predict: 'EQSPEC, no fault, but in {dtype}: how many of {rows} rows equal the row run alone, token for token?',
    fewer: 'A batch adds numbers in another order than a single row, and where two tokens are as good as equal that decides.', more: 'Rounding decides only where two tokens are as good as equal; most choices are clear.',
    shown: 'EQSPEC: {equal} of {rows} rows are equal.',
    act: '{rule} Which is which?', item: '{run}, row {row}: alone, {lead}; these logits moved by {apart}',
    isTie: '{item}: both small enough, and no invariant broken. Rounding.', isBug: '{item}. {why}. So it is a bug.',
    moved: 'Rounding moves them by at most {noise}', led: 'A lead of at most {twice} is rounding', broke: 'an invariant is broken: {what}, round {round}{fed}',
    done: 'Sorted: {lanes}.',
    check: 'Another one, EQSPEC or BSP. Row {row}, token {n}: alone, {lead}; these logits moved by {apart}; {invariants}. The verdict on this difference?', holds: 'no invariant is broken',
    rounding: 'Rounding', bug: 'A bug', unknown: 'Nobody can know', known: 'It is known: the lead, and how far rounding moves a logit, were both measured.',
    because: { predict: 'A batch adds numbers in another order than a single row. Rows with a choice so close that this decided it: {near}.', predictAll: 'No row came to a choice so close that rounding decides it.' },
    why: '{noise}: the most that a chosen token’s logit moved in this run while batch and lone row still wrote the same. Rounding can lower one logit by {noise} and raise the other by {noise}, and so undo a lead of {twice}.',
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
