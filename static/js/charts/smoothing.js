// Smoothing, and the range of an axis without outliers.

/** @import { AxisCut } from "../types.js" */

/**
 * Exponential moving average with its start corrected, so that it begins at the first value. Gaps (NaN) stay gaps.
 * @param {number[]} values
 * @param {number} weight
 */
export function smooth(values, weight) {
  if (!weight) return values;
  let mean = 0;
  let mass = 0;
  return values.map((value) => {
    if (Number.isNaN(value)) return value; // a gap
    mass = weight * mass + (1 - weight);
    mean += ((1 - weight) / mass) * (value - mean); // a constant stays exactly what it is
    return mean;
  });
}

const FEWEST = 20; // values; of fewer none is left out
const TAIL = 0.02;
const FULL_RANGE = 1.5; // times the range without outliers, which the full range must exceed

/**
 * The range of an axis without the smallest and largest fiftieth, how many values are outside, and the furthest of
 * them; null if that changes little.
 * @param {number[]} values
 * @returns {AxisCut | null}
 */
export function withoutOutliers(values) {
  const sorted = values.filter(Number.isFinite).sort((one, other) => one - other);
  if (sorted.length < FEWEST) return null;
  const [least, most] = [sorted[0], sorted[sorted.length - 1]];
  const low = sorted[Math.floor(TAIL * sorted.length)];
  const high = sorted[Math.ceil((1 - TAIL) * sorted.length) - 1];
  const margin = 0.25 * (high - low);
  /** @type {[number, number]} */
  const range = [Math.max(least, low - margin), Math.min(most, high + margin)];
  const left = sorted.filter((value) => value < range[0] || value > range[1]);
  if (!left.length || FULL_RANGE * (range[1] - range[0]) > most - least || range[1] <= range[0]) return null;
  const middle = (range[0] + range[1]) / 2;
  const reach = left.reduce((far, value) => (Math.abs(value - middle) > Math.abs(far - middle) ? value : far));
  return { range, outside: left.length, reach };
}
