// Searching texts: where a query is found, without regard to case, and which hit is the next one.

/** @typedef {{ text: number, start: number, end: number }} Hit the index of a text, and where the query is in it */

/**
 * Every hit, in order, of which no two overlap. Blanks of the query fit any blanks, also a line break.
 * @param {string[]} texts
 * @param {string} query
 * @returns {Hit[]}
 */
export function hitsIn(texts, query) {
  const words = query.trim().split(/\s+/).filter(Boolean);
  if (!words.length) return [];
  const pattern = new RegExp(words.map(escaped).join("\\s+"), "giu");
  return texts.flatMap((text, index) =>
    [...text.matchAll(pattern)].map((found) => ({
      text: index,
      start: found.index,
      end: found.index + found[0].length,
    })),
  );
}

/**
 * The index of the hit after or before `current`, around the end; from the first or the last if there is none yet.
 * @param {number} current -1 for none
 * @param {number} count
 * @param {1 | -1} direction
 */
export function nextHit(current, count, direction) {
  if (!count) return -1;
  if (current < 0) return direction > 0 ? 0 : count - 1;
  return (current + direction + count) % count;
}

/** @param {string} word */
const escaped = (word) => word.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");
