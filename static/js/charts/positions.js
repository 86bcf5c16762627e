// Positions of steps on every axis, and points with values there, out of the server's answers.

/** @import { Axis, Band, Bands, Ends, Point, Position } from "../types.js" */

/**
 * Where a position is along `axis`, in the form that Plotly draws.
 * @param {Position} position
 * @param {Axis} axis
 */
export function at(position, axis) {
  return axis === "time" ? new Date(1000 * position.time) : coordinate(position, axis);
}

/**
 * The same as a number: steps, tokens, seconds, or milliseconds of the clock.
 * @param {Position} position
 * @param {Axis} axis
 */
export function coordinate(position, axis) {
  if (axis === "lineage") return position.lineage ?? position.step;
  return axis === "time" ? 1000 * position.time : position[axis];
}

/**
 * A position before the first step.
 * @param {number} step
 * @param {number} [before] steps of the ancestors
 */
export const beginning = (step, before = 0) => ({ step, lineage: step + before, tokens: 0, seconds: 0, elapsed: 0 });

/**
 * Metrics as an address names several.
 * @param {string[]} keys
 */
export const listed = (keys) => keys.map(encodeURIComponent).join(",");

/**
 * @param {Position[]} positions
 * @param {Position[]} others
 */
export function haveSameSteps(positions, others) {
  if (positions === others) return true;
  return positions.length === others.length && positions.every((one, i) => one.step === others[i].step);
}

/**
 * @param {Bands} answer
 * @param {number} [before] steps of the run's ancestors
 * @returns {Position[]}
 */
export function positionsOf(answer, before = 0) {
  return answer.steps.map((step, i) => ({
    step,
    lineage: step + before,
    tokens: answer.tokens[i],
    seconds: answer.seconds[i],
    time: answer.times[i],
    elapsed: answer.elapsed[i],
    attempt: answer.attempts[i],
    first: i ? answer.steps[i - 1] + 1 : answer.spans[0][0],
  }));
}

/**
 * The values of one metric; positions without one are left out.
 * @param {Position[]} positions
 * @param {Band} band
 * @returns {Point[]}
 */
export function pointsOf(positions, band) {
  return band.mean.flatMap((y, i) => {
    if (y === null) return [];
    if (!band.low.length) return [{ ...positions[i], y }];
    const extremes = { low: band.low[i], high: band.high[i], lowAt: band.low_at?.[i], highAt: band.high_at?.[i] };
    return [{ ...positions[i], y, ...extremes }];
  });
}

/**
 * Every step of `spans`, and after them those of `positions`, up to the last position.
 * @param {[first: number, last: number, distance: number][]} spans
 * @param {Position[]} positions
 */
export function everyStepOf(spans, positions) {
  const end = positions.at(-1)?.step ?? 0; // an attempt may have gone back
  const recorded = spans.flatMap(([first, last, distance]) =>
    Array.from({ length: 1 + (last - first) / distance }, (_, i) => first + i * distance),
  );
  const upTo = recorded.at(-1) ?? 0;
  const since = positions.map(({ step }) => step).filter((step) => step > upTo);
  return [...recorded.filter((step) => step <= end), ...since];
}

/** @param {Position} position */
const beforeOf = ({ step, lineage = step }) => lineage - step;

/**
 * The position of a step, interpolated between its neighbours where it was thinned away; null beyond the ends.
 * @param {Position[]} positions
 * @param {number} step
 * @returns {Position | null}
 */
export function positionAt(positions, step) {
  const after = positions.findIndex((one) => one.step >= step);
  if (after < 0) return null;
  const high = positions[after];
  const low = positions[after - 1];
  if (high.step === step) return high;
  if (!low) return step >= (high.first ?? high.step) ? { ...high, step, lineage: step + beforeOf(high) } : null; // within the first range
  const share = (step - low.step) / (high.step - low.step);
  /** @param {"tokens" | "seconds" | "time" | "elapsed"} name */
  const between = (name) => low[name] + share * (high[name] - low[name]);
  return {
    step,
    lineage: step + beforeOf(high),
    tokens: between("tokens"),
    seconds: between("seconds"),
    time: between("time"),
    elapsed: between("elapsed"),
  };
}

/**
 * The first and last value of an axis, and how many steps are between; null for fewer than two steps. The axis of a
 * lineage begins at its first step, which an ancestor has made.
 * @param {Position[]} positions
 * @param {Axis} axis
 * @returns {Ends | null}
 */
export function endsOf(positions, axis) {
  const [first, last] = [positions[0], positions.at(-1)];
  if (!first || !last || first === last) return null;
  const end = coordinate(last, axis);
  if (axis === "lineage") return { first: 1, last: end, steps: end - 1 };
  return { first: coordinate(first, axis), last: end, steps: last.step - first.step };
}

/**
 * The steps between two values of an axis, with a neighbour on each side.
 * @param {Position[]} positions
 * @param {Axis} axis
 * @param {[from: number, to: number]} window
 * @returns {[from: number, to: number]}
 */
export function stepsBetween(positions, axis, [from, to]) {
  if (!positions.length) return [0, 0];
  const first = positions.findLast((one) => coordinate(one, axis) <= from) ?? positions[0];
  const last = positions.find((one) => coordinate(one, axis) >= to) ?? positions[positions.length - 1];
  return [first.step, last.step];
}

/**
 * @template {Position} T
 * @param {T[]} points
 * @param {(point: T) => number} distance
 * @returns {T | null}
 */
export function nearestOf(points, distance) {
  /** @type {{ far: number, point: T } | null} */
  let best = null;
  for (const point of points) {
    const far = distance(point);
    if (best === null || far < best.far) best = { far, point };
  }
  return best?.point ?? null;
}
