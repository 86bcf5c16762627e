// Smoothing, and the range of an axis that leaves outliers out.

/** Exponential moving average with its start corrected, so that it begins at the first value. */
export function smooth(values, weight) {
  if (!weight) return values;
  let mean = 0;
  let mass = 0;
  return values.map((value) => {
    mass = weight * mass + (1 - weight);
    mean += ((1 - weight) / mass) * (value - mean); // a constant stays exactly what it is
    return mean;
  });
}

const FEW = 20; // values that no share of can be left out
const TAIL = 0.02;
const WORTH = 1.5; // times the range, which the whole must have before any of it is left out

/**
 * Where an axis ends that leaves out the smallest and largest fiftieth, and what it leaves out; null if that changes
 * little: {range: [low, high], outside: number of values, reach: the furthest of them}.
 */
export function withoutOutliers(values) {
  const sorted = values.filter(Number.isFinite).sort((one, other) => one - other);
  if (sorted.length < FEW) return null;
  const low = sorted[Math.floor(TAIL * sorted.length)];
  const high = sorted[Math.ceil((1 - TAIL) * sorted.length) - 1];
  const margin = 0.25 * (high - low);
  const range = [Math.max(sorted[0], low - margin), Math.min(sorted.at(-1), high + margin)];
  const left = sorted.filter((value) => value < range[0] || value > range[1]);
  if (!left.length || WORTH * (range[1] - range[0]) > sorted.at(-1) - sorted[0] || range[1] <= range[0]) return null;
  const middle = (range[0] + range[1]) / 2;
  const reach = left.reduce((far, value) => (Math.abs(value - middle) > Math.abs(far - middle) ? value : far));
  return { range, outside: left.length, reach };
}
