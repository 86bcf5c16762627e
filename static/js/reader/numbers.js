// The numbers of a turn as text. What was not measured is a dash.

/**
 * @param {unknown} value
 * @returns {value is number}
 */
const isNumber = (value) => typeof value === "number" && Number.isFinite(value);

/** @param {number | null} value */
export const fixed = (value) => (isNumber(value) ? value.toFixed(3) : "–");

/** @param {number | null} value */
export const signed = (value) => (isNumber(value) ? `${value > 0 ? "+" : ""}${value.toFixed(2)}` : "–");
