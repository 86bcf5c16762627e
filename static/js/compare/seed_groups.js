// Runs that differ by nothing but their seed, as one line: the mean with a t interval of 95% over the seeds.

import { smooth } from "../charts/smoothing.js";

/** @import { Point } from "../types.js" */
/** @import { CompareView } from "./view_state.js" */
/** @import { ComparedRun } from "./compared_runs.js" */

/** @typedef {Pick<Point, "y" | "tokens" | "seconds" | "elapsed">} Values */
/** @typedef {Point & { seeds: number }} MeanPoint */

/**
 * @typedef {object} Line of a comparison
 * @property {string} id
 * @property {string} name
 * @property {string} of description of the runs in the group
 * @property {number} colour
 * @property {number} dash
 * @property {ComparedRun[]} members
 * @property {ComparedRun[]} shown members that are not hidden
 * @property {boolean} isMean
 */

/** @type {("tokens" | "seconds" | "elapsed")[]} */
const COORDINATES = ["tokens", "seconds", "elapsed"];

const FEWEST = 3; // seeds; of two the interval is twelve times their standard deviation, and shows nothing

/**
 * The mean of `curves`, each points in order of `step`, where all of them have values: a seed that ended early ends the
 * line, for the others alone would be another average. `weight` smooths each before; `quantiles[n - 2]` is the 97.5%
 * quantile of t for n curves. Points have `low` and `high` where there are three curves or more.
 * @param {Point[][]} curves
 * @param {number} weight
 * @param {number[]} quantiles
 * @returns {MeanPoint[]}
 */
export function meanOverSeeds(curves, weight, quantiles) {
  if (!curves.length || curves.some((points) => !points.length)) return [];
  const from = Math.max(...curves.map((points) => points[0].step));
  const to = Math.min(...curves.map((points) => points[points.length - 1].step));
  const inside = curves.map((points) => points.filter(({ step }) => step >= from && step <= to));
  const coarsest = inside.reduce((few, points) => (points.length < few.length ? points : few));
  const aligned = curves.map((points) => along(points, coarsest));
  const values = aligned.map((points) => points.map((point) => point.y));
  const smoothed = values.map((one) => smooth(one, weight));
  return coarsest.map(({ step, lineage, time }, i) => {
    const here = smoothed.map((one) => one[i]);
    const [tokens, seconds, elapsed] = COORDINATES.map((name) => mean(aligned.map((points) => points[i][name])));
    const position = { step, lineage, time, tokens, seconds, elapsed };
    return { ...position, y: mean(here), seeds: curves.length, ...interval(here, quantiles) };
  });
}

/**
 * @param {number[]} values
 * @param {number[]} quantiles
 */
function interval(values, quantiles) {
  if (values.length < FEWEST) return {};
  const middle = mean(values);
  const variance = values.reduce((sum, value) => sum + (value - middle) ** 2, 0) / (values.length - 1);
  const reach = quantiles[values.length - 2] * Math.sqrt(variance / values.length);
  return { low: middle - reach, high: middle + reach };
}

/**
 * `points` at the steps of `grid`, all within theirs; interpolated between two of them.
 * @param {Point[]} points
 * @param {{ step: number }[]} grid
 * @returns {Values[]}
 */
function along(points, grid) {
  let after = 0;
  return grid.map(({ step }) => {
    while (points[after].step < step) after += 1;
    const high = points[after];
    const low = points[after - 1];
    if (high.step === step || !low) return high;
    const share = (step - low.step) / (high.step - low.step);
    const between = (/** @type {keyof Values} */ name) => low[name] + share * (high[name] - low[name]);
    return { y: between("y"), tokens: between("tokens"), seconds: between("seconds"), elapsed: between("elapsed") };
  });
}

/** @param {number[]} values */
const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

/**
 * The lines of a comparison: one for each run, or for each group of seeds where they are drawn as their mean.
 * @param {ComparedRun[]} runs
 * @param {CompareView} view
 * @returns {Line[]}
 */
export function linesOf(runs, view) {
  const together = view.seeds && view.axis !== "time"; // runs of different days have no common time
  /** @type {Map<string, ComparedRun[]>} */
  const groups = new Map();
  for (const run of runs) {
    const id = together && run.group !== null ? `group ${run.group}` : run.id;
    groups.set(id, [...(groups.get(id) ?? []), run]);
  }
  return [...groups].map(([id, members]) => lineOf(id, members, view));
}

/**
 * @param {string} id
 * @param {ComparedRun[]} members
 * @param {CompareView} view
 * @returns {Line}
 */
function lineOf(id, members, view) {
  const shown = members.filter((run) => !view.hidden.includes(run.id));
  const [first] = members;
  const more = members.length - 1;
  const name = more ? `${first.name} and ${more} more ${more === 1 ? "seed" : "seeds"}` : first.name;
  const of = members.map((run) => (run.seed === null ? run.name : `${run.name}, seed ${run.seed}`)).join("\n");
  return { id, name, of, colour: first.colour, dash: first.dash, members, shown, isMean: more > 0 };
}
