// Where in the trace a generated token was emitted: which frame, which batch row, which of the tokens of that round.

/** {frame, i, j} of generated token n of a row, or null. Column j of the forward chose it. */
export function bornAt(lane, row, n) {
  let before = 0;
  for (const frame of lane?.frames ?? []) {
    const i = frame.rows.indexOf(row);
    const count = i < 0 ? 0 : frame.emitted[i]?.length ?? 0;
    if (n < before + count) return { frame, i, j: n - before };
    before += count;
  }
  return null;
}

/** The target's two best at a token: [{id, logit}, {id, logit}]; null where the trace does not have them. */
export function topTwo({ frame, i, j }) {
  const top = frame.top2[i]?.[j];
  const id = frame.choice[i]?.[j];
  if (!top || id === undefined) return null;
  return [{ id, logit: top[1] }, { id: top[0], logit: top[2] }];
}
