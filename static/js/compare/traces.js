// What a chart draws of one line of a comparison: a run as its own page draws it, held-out results with their
// intervals, or the mean of a group of runs with its band.

import { ribbon, tracesOf } from "../charts/chart_traces.js";
import { heldOutTrace } from "../charts/held_out_traces.js";
import { DASHES } from "../charts/looks.js";
import { at, beginning } from "../charts/positions.js";
import { smooth } from "../charts/smoothing.js";
import { number } from "../core/format.js";
import { plain } from "../charts/setting_marks.js";

/** @import { EvaluationCompleted, Point, Trace, View } from "../types.js" */
/** @import { ComparedRun } from "./compared_runs.js" */
/** @import { GroupCurves, MeanPoint } from "./group_curves.js" */
/** @import { Line } from "./lines.js" */

/** @typedef {{ view: View, colour: string, log?: boolean, bare?: boolean, groups: GroupCurves, drawnAlready: string[] }} LineLook `drawnAlready` are ids of runs with a line of their own; `bare` lines have nothing under them */
/** @typedef {{ traces: Trace[], points: Point[] }} DrawnLine `points` are those of the line, for the crosshair */

const HELD_OUT = /^eval\/(.+)\/success$/s;
const LABEL = { align: "left" };

/**
 * @param {Line} line
 * @param {string} metric
 * @param {LineLook} lineLook
 * @returns {DrawnLine}
 */
export function lineTraces(line, metric, { view, colour, log, bare, groups, drawnAlready }) {
  const name = plain(line.name);
  if (line.isMean) return meanTraces(line, metric, { view, colour, groups, name });
  const [run] = line.shown;
  const evaluations = heldOut(run, metric);
  const dash = DASHES[line.dash];
  const { curves, lineage } = run;
  if (evaluations.length) {
    const before = lineage.heldOutTraces(tagOf(metric), { view, colour, drawnAlready });
    const { traces, points } = heldOutTraces(run, evaluations, { view, colour, dash, name });
    return { traces: [...before, ...traces], points };
  }
  const look = { names: [metric], colours: [colour], view, dash, log, bare, drawnAlready };
  const traces = [...lineage.traces(look), ...tracesOf({ ...look, curves })];
  const drawn = traces[traces.length - 1];
  Object.assign(drawn, {
    name,
    hoverlabel: LABEL,
    text: drawn.text?.map((words) => `${name}<br>${words}`),
    customdata: drawn.customdata?.map((step) => ({ run: run.id, step })),
  });
  return { traces, points: [...lineage.points(metric, view.axis, drawnAlready), ...curves.points(metric)] };
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
 * Solid where every run of the group has a value; dotted and without a band where some have ended.
 * @param {Line} line
 * @param {string} metric
 * @param {Pick<LineLook, "view" | "colour" | "groups"> & { name: string }} lineLook
 * @returns {DrawnLine}
 */
function meanTraces(line, metric, { view, colour, groups, name }) {
  const points = groups.points(line, metric);
  const sparse = points.length > 1 && points[1].step - points[0].step > 1;
  const weight = sparse ? 0 : view.smoothing;
  const y = smooth(
    points.map((point) => point.y),
    weight,
  );
  const end = points.findLastIndex((point) => point.whole) + 1;
  const x = points.map((point) => at(point, view.axis));
  const drawn = {
    name,
    hoverlabel: LABEL,
    mode: sparse ? "lines+markers" : "lines",
    marker: { size: 5, color: colour },
    hovertemplate: "%{text}<extra></extra>",
    showlegend: false,
  };
  const text = points.map((point) => `${name}<br>${meanWords(point, groups.view.band)}`);
  const some = {
    ...drawn,
    name: undefined,
    x: x.slice(Math.max(0, end - 1)),
    y: y.slice(Math.max(0, end - 1)),
    text: text.slice(Math.max(0, end - 1)),
    line: { color: colour, width: 1.25, dash: "dot" },
  };
  const whole = {
    ...drawn,
    x: x.slice(0, end),
    y: y.slice(0, end),
    text: text.slice(0, end),
    line: { color: colour, width: 2.25, dash: DASHES[line.dash] },
  };
  const under = band(x.slice(0, end), points.slice(0, end), weight, colour);
  return { traces: [...under, ...(end < points.length ? [some] : []), whole], points };
}

/**
 * The band, smoothed as its line is.
 * @param {Trace["x"]} x
 * @param {MeanPoint[]} points
 * @param {number} weight
 * @param {string} colour
 */
function band(x, points, weight, colour) {
  const known = points.map((_, i) => i).filter((i) => typeof points[i].low === "number");
  if (!known.length) return [];
  const [low, high] = [known.map((i) => points[i].low ?? points[i].y), known.map((i) => points[i].high ?? points[i].y)];
  const look = { line: { color: colour, width: 0 }, fillcolor: `${colour}2e` };
  return [
    ribbon(
      known.map((i) => x[i]),
      smooth(low, weight),
      smooth(high, weight),
      look,
    ),
  ];
}

/** @type {Record<string, string>} */
const BANDS = { ci: "95% interval", se: "mean ± standard error", std: "mean ± standard deviation", minmax: "min–max" };

/**
 * @param {MeanPoint} meanPoint
 * @param {string} kind of the band
 */
function meanWords({ step, y, low, high, count }, kind) {
  const known = typeof low === "number" && typeof high === "number";
  const interval = known ? `${BANDS[kind]} ${number(low)} to ${number(high)}` : `too few for a band (${BANDS[kind]})`;
  return `step ${number(step)}: mean ${number(y)}, n = ${count}, ${interval}`;
}
