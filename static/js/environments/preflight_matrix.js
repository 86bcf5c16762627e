// The rewards of a pre-flight: a row per problem, a column per rollout, coloured by reward.

import { element } from "../core/dom.js";
import { visibleString } from "../core/visible_text.js";

/** @import { PreflightProblem, PreflightReport, PreflightRollout } from "../types.js" */

const SHADES = 8;

/**
 * @param {PreflightReport} report
 * @param {number} asked rollouts, of which some may still be played
 */
export function matrixOf({ problems, budget }, asked) {
  const shade = shadesOf(problems);
  const head = element(
    "tr",
    {},
    element("th", { scope: "col", class: "num" }, "seed"),
    ...Array.from({ length: asked }, (_, index) =>
      element("th", { scope: "col", class: "matrix-member" }, String(index + 1)),
    ),
    element("th", { scope: "col", class: "num" }, "mean"),
    element("th", { scope: "col", class: "num", title: "Variance of the problem's rewards" }, "variance"),
    element("th", { scope: "col" }, "solved"),
    element("th", { scope: "col", class: "num", title: "Actions of a shortest solution" }, "solution"),
  );
  const rows = problems.map((problem) => rowOf(problem, asked, budget, shade));
  const caption = element("caption", { class: "visually-hidden" }, "Rewards by problem and rollout");
  const table = element("table", { class: "matrix preflight-matrix" }, caption);
  table.append(element("thead", {}, head), element("tbody", {}, ...rows));
  return table;
}

/**
 * From the lowest to the highest reward in eight shades; the middle one where all are equal.
 * @param {PreflightProblem[]} problems
 */
export function shadesOf(problems) {
  const values = problems.flatMap(({ rollouts }) => rollouts.flatMap(({ value }) => (value === null ? [] : [value])));
  const [low, high] = [Math.min(...values), Math.max(...values)];
  return (/** @type {number} */ value) =>
    high > low ? Math.round((SHADES * (value - low)) / (high - low)) : SHADES / 2;
}

/**
 * @param {PreflightProblem} problem
 * @param {number} asked
 * @param {number} budget
 * @param {(value: number) => number} shade
 */
function rowOf(problem, asked, budget, shade) {
  const cells = Array.from({ length: asked }, (_, index) =>
    element("td", { class: "matrix-cell" }, cellOf(problem.rollouts[index], shade)),
  );
  return element(
    "tr",
    {},
    element("th", { scope: "row", class: "num" }, String(problem.seed)),
    ...cells,
    element("td", { class: "num" }, number(problem.mean)),
    element("td", { class: "num" }, number(problem.variance)),
    element("td", {}, problem.difficulty),
    solutionOf(problem, budget),
  );
}

/**
 * @param {PreflightRollout | undefined} rollout
 * @param {(value: number) => number} shade
 */
function cellOf(rollout, shade) {
  if (!rollout) return element("span", { class: "heat heat--waiting" }, "·");
  if (rollout.value === null) {
    return element("span", { class: "heat heat--fault", title: visibleString(rollout.error) }, "fault");
  }
  const words = [
    rollout.success ? "solved" : "not solved",
    rollout.stop.replaceAll("_", " "),
    `${rollout.turns} turns`,
  ];
  if (rollout.malformed) words.push(`${rollout.malformed} malformed`);
  const name = `heat heat-${shade(rollout.value)}${rollout.success ? " heat--solved" : ""}`;
  return element("span", { class: name, title: visibleString(words.join(", ")) }, number(rollout.value));
}

/**
 * @param {PreflightProblem} problem
 * @param {number} budget
 */
function solutionOf({ solution, length }, budget) {
  if (length === null) return element("td", { class: "num" }, solution === "impossible" ? "none" : "unknown");
  if (length <= budget) return element("td", { class: "num" }, String(length));
  return element("td", { class: "num" }, element("em", { title: `over the budget of ${budget}` }, String(length)));
}

/** @param {number | null} value */
const number = (value) => (value === null ? "–" : String(Number(value.toFixed(2))));
