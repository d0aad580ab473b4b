// Owns chance: the same seed and words give the same numbers on every machine.

/** A generator of numbers whose course depends on the seed and on what it is for. */
export class Chance {
  constructor(seed, ...purpose) {
    // FNV-1a, so that neighbouring seeds have nothing in common.
    let state = 0x811c9dc5;
    for (const char of [seed, ...purpose].join('\0')) state = Math.imul(state ^ char.codePointAt(0), 0x01000193);
    this.state = state >>> 0;
  }

  /** A number from 0 up to 1, by mulberry32. */
  next() {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let t = this.state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }

  below(limit) {
    return Math.floor(this.next() * limit);
  }

  /** One of the list, undefined if it is empty. */
  pick(list) {
    return list[this.below(list.length)];
  }

  /** Up to `count` of the list, in its order. */
  sample(list, count) {
    const order = list.map((_, i) => i);
    for (let i = 0; i < Math.min(count, list.length); i++) {
      const j = i + this.below(list.length - i);
      [order[i], order[j]] = [order[j], order[i]];
    }
    return order.slice(0, count).sort((a, b) => a - b).map((i) => list[i]);
  }
}
