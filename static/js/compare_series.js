// Smoothing of a curve.

/** An exponential moving average without the pull of its start; `weight` 0 leaves the values as they are. */
export function smoothed(values, weight) {
  let sum = 0;
  let mass = 0;
  return values.map((value) => {
    sum = weight * sum + (1 - weight) * value;
    mass = weight * mass + (1 - weight);
    return sum / mass;
  });
}
