// A step, or of a thinned run the range of steps from `first` to `step`.

/** @typedef {{ step: number, first?: number | null }} StepRange */

/** @param {StepRange} range */
const isRange = ({ first, step }) => (first ?? Infinity) < step;

/**
 * The range as a query of the list of trajectories.
 * @param {StepRange} range
 */
export const stepsQuery = (range) =>
  isRange(range) ? `step_low=${range.first}&step_high=${range.step}` : `step=${range.step}`;
