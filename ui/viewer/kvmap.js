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
}

/** Copies of the maps of these rows, as far as they have one. */
export function copies(maps, rows) {
  return Object.fromEntries(rows.filter((row) => row in maps).map((row) => [row, maps[row].copy()]));
}
