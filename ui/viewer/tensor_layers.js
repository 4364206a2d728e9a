// Two more layers of the slot grid: the gap in front of every entry, and whose entry it is.
//
//   gaps    z = step from the visible neighbour on the left minus 1 (null: no token, or hidden)
//   owners  z = code of OWNER per slot of `frame.fed`; an entry is right when it is visible, the only one of its token,
//           and holds that token's id

/** z codes of the owners view; the names are those of the colours. `dropped`: a pad that the mask shows. */
export const OWNER = { pad: 0, kept: 1, hole: 2, rejected: 3, dropped: 4 };

/** z [rows][S]; `gaps` as in the positions view. */
export function gapsOf(frame, axis, gaps) {
  const z = axis.rows.map((row) => {
    const m = frame.fed[row];
    if (!m) return Array(frame.width).fill(null);
    const own = new Map(gaps.filter((gap) => gap.row === row).map(({ slot, from, to }) => [slot, to - from - 1]));
    return m.owner.map((owner, slot) => (owner < 0 || !m.visible[slot] ? null : own.get(slot) ?? 0));
  });
  return { z, gaps };
}

/** z [rows][S] of OWNER codes, `own` {row: [entries that are right, tokens that were fed]}. */
export function ownersOf(lane, frame, axis) {
  const out = { z: [], own: {}, codes: OWNER };
  for (const row of axis.rows) {
    const m = frame.fed[row];
    const known = m ? knownIds(lane, frame, row) : [];
    const seen = new Set();
    out.z.push(m ? m.owner.map((owner, slot) => {
      if (owner < 0) return m.visible[slot] ? OWNER.dropped : OWNER.pad;
      if (!m.visible[slot]) return OWNER.hole;
      if (seen.has(owner) || m.token[slot] !== known[owner]) return OWNER.rejected;
      seen.add(owner);
      return OWNER.kept;
    }) : Array(frame.width).fill(null));
    out.own[row] = [seen.size, known.length];
  }
  return out;
}

/** The ids of a row that this forward was told of: its content before the round, and the drafts. */
function knownIds(lane, frame, row) {
  const i = frame.rows.indexOf(row);
  const before = frame.length[row] - (frame.emitted[i]?.length ?? 0);
  return [...lane.rows[row].ids.slice(0, before), ...(frame.draft[i] ?? [])];
}
