// The states of a trajectory: the one that the agent saw in a turn, and the one after each of its actions.

/** @import { Drawing, TrajectoryRecord } from "../types.js" */

/** @typedef {{ drawing?: Drawing, observation?: string }} EnvState */
/** @typedef {Pick<TrajectoryRecord, "initial" | "turns">} Played */

/**
 * Frame 0 is the state that the turn began with, frame n the state after its nth action. A turn without an action does
 * not change the state.
 * @param {Played} record
 * @param {number} turn
 * @param {number} frame
 * @returns {EnvState}
 */
export function stateAt(record, turn, frame) {
  if (frame > 0) return record.turns[turn].frames[frame - 1];
  for (let earlier = turn - 1; earlier >= 0; earlier -= 1) {
    const last = record.turns[earlier].frames.at(-1);
    if (last) return last;
  }
  return record.initial ?? {};
}

/**
 * @param {Played} record
 * @param {number} turn
 */
export const stateSeen = (record, turn) => stateAt(record, turn, 0);

/**
 * @param {Played} record
 * @param {number} turn
 */
export const stateAfter = (record, turn) => stateAt(record, turn, record.turns[turn].frames.length);
