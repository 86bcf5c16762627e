// What a chart draws of one line of a comparison: a run as its own page draws it, held-out results with their
// intervals, or the mean of several seeds with its band.

import { ribbon, tracesOf } from "../charts/chart_traces.js";
import { heldOutTrace } from "../charts/held_out_traces.js";
import { meanOverSeeds } from "./seed_groups.js";
import { at, beginning } from "../charts/positions.js";
import { number } from "../core/format.js";
import { plain } from "../charts/setting_marks.js";

/** @import { EvaluationCompleted, Point, Trace, View } from "../types.js" */
/** @import { ComparedRun } from "./compared_runs.js" */
/** @import { Line, MeanPoint } from "./seed_groups.js" */

/** @typedef {{ view: View, colour: string, log?: boolean, quantiles: number[], apart: string[] }} LineLook `apart` are ids of runs with a line of their own */
/** @typedef {{ traces: Trace[], points: Point[] }} DrawnLine `points` are those of the line, for the crosshair */

const HELD_OUT = /^eval\/(.+)\/success$/s;
const DASHES = ["solid", "dash", "dot", "dashdot", "longdash", "longdashdot"]; // as the swatches of `run_colours.css`
const STEADY = { showlegend: false, hoverinfo: "skip" };
const LABEL = { align: "left" };

/**
 * @param {Line} line
 * @param {string} metric
 * @param {LineLook} lineLook
 * @returns {DrawnLine}
 */
export function lineTraces(line, metric, { view, colour, log, quantiles, apart }) {
  const name = plain(line.name);
  if (line.isMean) return meanTraces(line, metric, { view, colour, quantiles, apart, name });
  const [run] = line.shown;
  const evaluations = heldOut(run, metric);
  const dash = DASHES[line.dash];
  const { curves, lineage } = run;
  if (evaluations.length) {
    const before = lineage.heldOutTraces(tagOf(metric), { view, colour, apart });
    const { traces, points } = heldOutTraces(run, evaluations, { view, colour, dash, name });
    return { traces: [...before, ...traces], points };
  }
  const look = { names: [metric], colours: [colour], view, dash, log, apart };
  const traces = [...lineage.traces(look), ...tracesOf({ ...look, curves })];
  const drawn = traces[traces.length - 1];
  Object.assign(drawn, {
    name,
    hoverlabel: LABEL,
    text: drawn.text?.map((words) => `${name}<br>${words}`),
    customdata: drawn.customdata?.map((step) => ({ run: run.id, step })),
  });
  return { traces, points: [...lineage.points(metric, view.axis, apart), ...curves.points(metric)] };
}

/** @param {string} metric */
const tagOf = (metric) => HELD_OUT.exec(metric)?.[1];

/**
 * Of a metric `eval/<tag>/success` the evaluations that it stands for.
 * @param {ComparedRun} run
 * @param {string} metric
 */
export function heldOut(run, metric) {
  const tag = tagOf(metric);
  return run.store.evaluations.filter((one) => one.environment === tag);
}

/**
 * @param {ComparedRun} run
 * @param {EvaluationCompleted[]} evaluations
 * @param {Pick<LineLook, "view" | "colour"> & { name: string, dash: string }} omit
 * @returns {DrawnLine}
 */
function heldOutTraces(run, evaluations, { view, colour, dash, name }) {
  const trace = heldOutTrace(evaluations, { curves: run.curves, view, colour });
  const wordsOf = (/** @type {EvaluationCompleted} */ { step }, /** @type {number} */ i) =>
    `${name}<br>held-out at step ${number(step)}: ${trace.text[i]}`;
  Object.assign(trace, {
    name,
    hoverlabel: LABEL,
    mode: "lines+markers",
    line: { color: colour, width: 1.25, dash },
    text: evaluations.map(wordsOf),
    hovertemplate: "%{text}<extra></extra>",
    customdata: evaluations.map(({ step }) => ({ run: run.id, step })),
  });
  return { traces: [trace], points: pointsOf(run, evaluations) };
}

/**
 * @param {ComparedRun} run
 * @param {EvaluationCompleted[]} evaluations
 * @returns {Point[]}
 */
const pointsOf = (run, evaluations) =>
  evaluations.map(({ step, time, success }) => {
    const position = run.curves.position(step) ?? beginning(step, run.curves.before);
    return { ...position, time, y: success };
  });

/**
 * @param {Line} line
 * @param {string} metric
 * @param {LineLook & { name: string }} lineLook
 * @returns {DrawnLine}
 */
function meanTraces(line, metric, { view, colour, quantiles, name }) {
  const curves = line.shown.map((run) => {
    const evaluations = heldOut(run, metric);
    return evaluations.length ? pointsOf(run, evaluations) : run.curves.points(metric);
  });
  const sparse = line.shown.some((run) => run.curves.isSparse(metric));
  const points = meanOverSeeds(curves, sparse ? 0 : view.smoothing, quantiles);
  const x = points.map((point) => at(point, view.axis));
  /** @type {Trace[]} */
  const faint = curves.map((seed) => ({
    x: seed.map((point) => at(point, view.axis)),
    y: seed.map((point) => point.y),
    mode: "lines",
    line: { color: colour, width: 0.75 },
    opacity: 0.3,
    ...STEADY,
  }));
  const drawn = {
    x,
    y: points.map((point) => point.y),
    name,
    hoverlabel: LABEL,
    text: points.map((point) => `${name}<br>${meanWords(point)}`),
    mode: sparse ? "lines+markers" : "lines",
    line: { color: colour, width: 2.25, dash: DASHES[line.dash] },
    marker: { size: 5, color: colour },
    hovertemplate: "%{text}<extra></extra>",
    showlegend: false,
  };
  return { traces: [...faint, ...band(x, points, colour), drawn], points };
}

/**
 * @param {Trace["x"]} x
 * @param {Point[]} points
 * @param {string} colour
 */
function band(x, points, colour) {
  if (points[0]?.low === undefined) return [];
  const [low, high] = [points.map((point) => point.low ?? point.y), points.map((point) => point.high ?? point.y)];
  return [ribbon(x, low, high, { line: { color: colour, width: 0 }, fillcolor: `${colour}2e` })];
}

/** @param {MeanPoint} meanPoint */
function meanWords({ step, y, low, high, seeds }) {
  const interval =
    low === undefined || low === null ? "too few for an interval" : `95% interval ${number(low)} to ${number(high)}`;
  return `step ${number(step)}: mean of ${seeds} ${seeds === 1 ? "seed" : "seeds"} ${number(y)}, ${interval}`;
}
