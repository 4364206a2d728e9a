// One row's KV entries by slot: four parallel lists. An unwritten slot has owner, token and position -1, visible 0.

export class KvMap {
  constructor(owner = [], token = [], position = [], visible = []) {
    Object.assign(this, { owner, token, position, visible });
  }

  copy() {
    return new KvMap(this.owner.slice(), this.token.slice(), this.position.slice(), this.visible.slice());
  }

  /** Cut to `width` slots or add empty ones. */
  resize(width) {
    for (const [cells, empty] of [[this.owner, -1], [this.token, -1], [this.position, -1], [this.visible, 0]]) {
      while (cells.length < width) cells.push(empty);
      cells.length = width;
    }
  }

  set(slot, owner, token, position, visible) {
    if (!(slot >= 0 && slot < this.owner.length)) throw new RangeError(`slot ${slot} of ${this.owner.length}`);
    this.owner[slot] = owner;
    this.token[slot] = token;
    this.position[slot] = position;
    this.visible[slot] = visible;
  }

  /** Entries of another map, from its slots `src` on to the slots `dst` on; they were checked to be there. */
  take(other, src, dst, length) {
    for (const name of ['owner', 'token', 'position', 'visible']) {
      const [from, to] = [other[name], this[name]];
      for (let n = 0; n < length; n += 1) to[dst + n] = from[src + n];
    }
  }
}

const lent = new WeakSet(); // maps that a frame holds, too

/** The maps of these rows as they are now, as far as they have one. They stay so: whoever writes writes into `own`. */
export function copies(maps, rows) {
  return Object.fromEntries(rows.filter((row) => row in maps).map((row) => {
    lent.add(maps[row]);
    return [row, maps[row]];
  }));
}

/** The map of a row to write into: a copy, where a frame holds it. */
export function own(maps, row) {
  if (lent.has(maps[row])) maps[row] = maps[row].copy();
  return maps[row];
}
