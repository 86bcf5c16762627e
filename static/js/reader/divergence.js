// Where two trajectories diverge: the first action that differs. Other words for the same actions are no divergence.
// webapp/trajectories/alignment.py has the same definition.

/** @import { Turn } from "../types.js" */

/** @typedef {Pick<Turn, "executed" | "response">} Acted */
/** @typedef {{ turn: number, index: number, own: string | null, other: string | null }} Divergence */

/**
 * `turn` counts from 1 and `index`, of the action in its turn, from 0. `own` and `other` are the actions there: empty for
 * no action, null for one that has ended. Null if the actions are the same to the end.
 * @param {Acted[]} own
 * @param {Acted[]} other
 * @returns {Divergence | null}
 */
export function divergence(own, other) {
  for (let turn = 0; turn < Math.max(own.length, other.length); turn += 1) {
    const [mine, its] = [own[turn]?.executed, other[turn]?.executed];
    if (!mine || !its) {
      return { turn: turn + 1, index: 0, own: mine ? (mine[0] ?? "") : null, other: its ? (its[0] ?? "") : null };
    }
    for (let index = 0; index < Math.max(mine.length, its.length); index += 1) {
      if (mine[index] !== its[index]) {
        return { turn: turn + 1, index, own: mine[index] ?? "", other: its[index] ?? "" };
      }
    }
  }
  return null;
}

/**
 * The first turn (from 1) in which both did the same in other words; null if there is none.
 * @param {Acted[]} own
 * @param {Acted[]} other
 */
export function otherWords(own, other) {
  const found = own.findIndex(
    ({ executed, response }, turn) =>
      other[turn] && executed.join("\n") === other[turn].executed.join("\n") && response !== other[turn].response,
  );
  return found < 0 ? null : found + 1;
}

/**
 * What `other` does there that `own` does not.
 * @param {Divergence} found
 */
export function describe({ own, other }) {
  if (other === null) return "it has ended";
  if (own === null) return "this one has ended";
  return own ? `${other || "no action"}, not ${own}` : `${other}, where this one has no action`;
}
