// Held-out results as marks with their intervals: those of the trainer's own schedule are filled, those of requested
// evaluations are rings, at the steps of their checkpoints.

import { at, beginning } from "./positions.js";
import { number } from "../core/format.js";

/** @import { ChartCurves, ChartStore, HeldOutResult, Position, Trace, View } from "../types.js" */
/** @import { DrawnTrace } from "./chart_traces.js" */

/** @typedef {{ view: Pick<View, "axis">, colour: string }} Look */

/** @param {string} tag */
const isOf = (tag) => (/** @type {HeldOutResult} */ one) => one.environment === tag;

/**
 * All that a run has of one environment, after what its ancestors have.
 * @param {Pick<ChartStore, "curves" | "evaluations" | "requestedEvaluations" | "lineage">} store
 * @param {string} tag
 * @param {Look} look
 * @returns {Trace[]}
 */
export function heldOutTraces({ curves, evaluations, requestedEvaluations, lineage }, tag, look) {
  const requested = requestedEvaluations.filter(isOf(tag));
  const own = heldOutTrace(evaluations.filter(isOf(tag)), { curves, ...look });
  const before = lineage?.heldOutTraces(tag, look) ?? [];
  return [...before, own, ...(requested.length ? [requestedTrace(requested, { curves, ...look })] : [])];
}

/**
 * Changes with everything that is drawn of held-out results.
 * @param {Pick<ChartStore, "evaluations" | "requestedEvaluations">} store
 */
export const heldOutSignature = ({ evaluations, requestedEvaluations }) =>
  [...evaluations, ...requestedEvaluations].map(({ seq }) => seq).join();

/**
 * Says how many of an evaluation's problems are not held out; empty where all are.
 * @param {Pick<HeldOutResult, "episodes" | "trained_on">} evaluation
 */
const seenBefore = ({ episodes, trained_on: seen }) => (seen ? `, ${seen} of ${episodes} seen in training` : "");

/**
 * @param {HeldOutResult[]} evaluations
 * @param {Look & { curves: Pick<ChartCurves, "position"> & { before?: number } }} options
 * @returns {DrawnTrace}
 */
export function heldOutTrace(evaluations, { curves, view, colour }) {
  const points = evaluations.map((one) => {
    const position = curves.position(one.step);
    const time = timeOf(one, position);
    return { ...one, x: at({ ...(position ?? beginning(one.step, curves.before)), time }, view.axis), y: one.success };
  });
  return {
    x: points.map((point) => point.x),
    y: points.map((point) => point.y),
    customdata: points.map((point) => point.step),
    text: points.map((point) => `${number(point.y)} [${number(point.low)}, ${number(point.high)}]${seenBefore(point)}`),
    error_y: {
      type: "data",
      symmetric: false,
      array: points.map((point) => point.high - point.y),
      arrayminus: points.map((point) => point.y - point.low),
      color: colour,
      thickness: 1.2,
      width: 3,
    },
    mode: "markers",
    name: "held out, 95% interval",
    cliponaxis: false, // the first lies on the axis
    marker: { color: colour, size: 6 },
    hovertemplate: "held-out at step %{customdata}: %{text}<extra></extra>",
    showlegend: false,
  };
}

/**
 * A requested evaluation may have ended long after the step of its checkpoint, where its mark belongs.
 * @param {HeldOutResult} evaluation
 * @param {Position | null} position
 */
const timeOf = ({ kind, time }, position) => (kind === "checkpoint_evaluated" && position ? position.time : time);

/**
 * A ring around the filled mark, and longer ends of its interval, where a step has both.
 * @param {HeldOutResult[]} evaluations
 * @param {Parameters<typeof heldOutTrace>[1]} options
 * @returns {DrawnTrace}
 */
function requestedTrace(evaluations, options) {
  const trace = heldOutTrace(evaluations, options);
  return {
    ...trace,
    name: "held out, requested evaluation, 95% interval",
    error_y: { .../** @type {object} */ (trace.error_y), width: 6 },
    marker: { color: options.colour, size: 11, symbol: "circle-open", line: { width: 1.75 } },
  };
}
