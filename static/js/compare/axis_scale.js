// Where the values of a setting are on an axis from 0 to 1: numbers by size, words in the order in which they come.

import { ticks as roundTicks } from "../charts/small_chart.js";

/** @import { SettingField } from "./effects_panel.js" */

/** @typedef {{ at: number, text: string }} Tick */
/** @typedef {{ positions: number[], ticks: Tick[] }} AxisScale `positions` has one for each run */

const WIDE = 30; // times the least value: beyond, an axis of numbers is logarithmic
const MOST_TICKS = 8;
const APART = 0.07; // of the axis, between two labels
const SLOT = 0.12; // of the axis, below the numbers: for what is not set, and for 0 on a logarithmic axis
const NOT_SET = "not set"; // as `webapp.comparisons.fields` has it

/**
 * @param {Pick<SettingField, "values" | "numbers">} field
 * @param {{ linear?: boolean }} [options] `linear` where a share of the axis must be a share of the difference
 * @returns {AxisScale}
 */
export const scaleOf = ({ values, numbers }, { linear = false } = {}) =>
  numbers ? scaleOfNumbers(numbers, linear) : scaleOfWords(values);

/** @param {string[]} values */
function scaleOfWords(values) {
  const words = [...new Set(values)];
  const at = (/** @type {string} */ word) => (words.length > 1 ? words.indexOf(word) / (words.length - 1) : 0.5);
  return { positions: values.map(at), ticks: spaced(words.map((text) => ({ at: at(text), text }))) };
}

/**
 * @param {(number | null)[]} numbers
 * @param {boolean} linear
 */
function scaleOfNumbers(numbers, linear) {
  const known = [...new Set(numbers.filter((value) => value !== null))].sort((one, other) => one - other);
  const above = known.filter((value) => value > 0);
  const log = !linear && known[0] >= 0 && above[above.length - 1] / above[0] >= WIDE;
  const along = log ? Math.log : (/** @type {number} */ value) => value;
  const drawn = log ? above : known;
  const [low, high] = [along(drawn[0]), along(drawn[drawn.length - 1])];
  const slots = [...(numbers.includes(null) ? [null] : []), ...(log && known[0] === 0 ? [0] : [])];
  const from = SLOT * slots.length;
  const at = (/** @type {number | null} */ value) => {
    const slot = slots.indexOf(/** @type {never} */ (value));
    if (slot >= 0 || value === null) return SLOT * Math.max(0, slot);
    return high > low ? from + ((1 - from) * (along(value) - low)) / (high - low) : (from + 1) / 2;
  };
  const few = known.length <= MOST_TICKS;
  const shown = few ? drawn : (log ? logTicks : linearTicks)(drawn[0], drawn[drawn.length - 1]);
  return {
    positions: numbers.map(at),
    ticks: [
      ...slots.map((slot) => ({ at: at(slot), text: slot === null ? NOT_SET : "0" })),
      ...spaced(shown.map((value) => ({ at: at(value), text: tickText(value) }))),
    ],
  };
}

/**
 * @param {number} low
 * @param {number} high
 */
const linearTicks = (low, high) => roundTicks(low, high, 5);

/**
 * 1, 2 and 5 times powers of ten; of many decades the powers alone.
 * @param {number} low
 * @param {number} high
 */
function logTicks(low, high) {
  const [first, last] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))];
  const powers = Array.from({ length: last - first + 1 }, (_, i) => first + i);
  const factors = powers.length > 4 ? [1] : [1, 2, 5];
  const found = powers.flatMap((power) => factors.map((factor) => Number(`${factor}e${power}`)));
  return found.filter((value) => value >= low && value <= high);
}

/**
 * Without those too near to another: both ends stay, then each in its order.
 * @param {Tick[]} ticks
 */
function spaced(ticks) {
  const [first, last] = [ticks[0], ticks[ticks.length - 1]];
  /** @type {Tick[]} */
  const kept = [];
  for (const tick of ticks.length > 1 ? [first, last, ...ticks.slice(1, -1)] : ticks) {
    if (kept.every(({ at }) => Math.abs(at - tick.at) >= APART)) kept.push(tick);
  }
  return kept.sort((one, other) => one.at - other.at);
}

/**
 * Three digits, without zeros at the end.
 * @param {number} value
 */
export function tickText(value) {
  const size = Math.abs(value);
  const exponential = size !== 0 && (size < 1e-3 || size >= 1e5);
  return exponential ? Number(value.toPrecision(3)).toExponential() : String(Number(value.toPrecision(3)));
}
