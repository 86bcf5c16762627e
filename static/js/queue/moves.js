// Where a dragged row belongs, and where an arrow key takes a row. Positions are counted from 1.

/** @typedef {{ top: number, bottom: number }} Extent of a row on the page */

/**
 * The position of a row that is dropped at `y`: before the first row whose middle is below it. `rows` are all rows in
 * their order, with the dragged one, whose index is `from`.
 * @param {Extent[]} rows
 * @param {number} from
 * @param {number} y
 */
export function dropPosition(rows, from, y) {
  const above = rows.filter(({ top, bottom }, index) => index !== from && (top + bottom) / 2 < y);
  return above.length + 1;
}

/**
 * The position that a key takes the row to; null for a key that moves nothing.
 * @param {string} key
 * @param {number} position
 * @param {number} length
 */
export function keyPosition(key, position, length) {
  /** @type {Record<string, number>} */
  const targets = { ArrowUp: position - 1, ArrowDown: position + 1, Home: 1, End: length };
  const target = targets[key];
  if (target === undefined) return null;
  return Math.min(Math.max(1, target), length);
}
