// The mark of a response with more actions than allowed.

/** @import { Turn } from "../types.js" */

/**
 * How many of its actions were played: `2 of 3 played`.
 * @param {Pick<Turn, "executed" | "parsed" | "surplus">} turn
 */
export const played = ({ executed, parsed, surplus }) => `${executed.length} of ${parsed.length + surplus} played`;
