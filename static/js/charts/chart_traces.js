// The lines of a chart: for each metric a faint raw line, or the band of what was thinned away, and a smoothed line over
// it.

import { onLogAxis } from "./log_axis.js";
import { at } from "./positions.js";
import { number } from "../core/format.js";
import { describe } from "../core/glossary.js";
import { plain } from "./setting_marks.js";
import { smooth } from "./smoothing.js";
import { stepsQuery } from "./step_range.js";

/** @import { ChartCurves, Point, Trace, View } from "../types.js" */

/** @typedef {Trace & { text: string[], customdata: number[] }} DrawnTrace */

const STEADY = { showlegend: false, hoverinfo: "skip" };

/**
 * @param {{ names: string[], colours: string[], curves: Pick<ChartCurves, "points" | "isSparse">, view: Pick<View, "axis" | "smoothing">, dash?: string, log?: boolean, bare?: boolean }} options `bare` leaves out what lies under the lines
 * @returns {Trace[]}
 */
export function tracesOf({ names, colours, curves, view, dash = "solid", log = false, bare = false }) {
  return names.flatMap((name, index) => {
    const called = describe(name).title;
    const points = curves.points(name);
    const sparse = curves.isSparse(name);
    const x = points.map((point) => at(point, view.axis));
    const y = points.map((point) => (log ? onLogAxis(point.y) : point.y)); // what is not drawn is not smoothed either
    const colour = colours[index];
    const banded = points.some((point) => point.low !== undefined);
    const under = bare ? [] : banded ? band(x, points, colour) : !sparse && view.smoothing ? [faint(x, y, colour)] : [];
    return [...under, line(x, y, { points, colour, dash, called, sparse, weight: sparse ? 0 : view.smoothing })];
  });
}

/**
 * @param {Trace["x"]} x
 * @param {number[]} y
 * @param {{ points: Point[], colour: string, dash: string, called: string, sparse: boolean, weight: number }} options
 * @returns {DrawnTrace}
 */
function line(x, y, { points, colour, dash, called, sparse, weight }) {
  return {
    x,
    y: smooth(y, weight),
    customdata: points.map((point) => point.step),
    text: points.map(describePoint),
    mode: sparse ? "lines+markers" : "lines",
    line: { color: colour, width: 1.75, dash },
    marker: { size: 5, color: colour },
    name: plain(called), // for an exported picture, which has no other legend
    hovertemplate: "%{text}<extra></extra>",
    showlegend: false,
  };
}

/**
 * @param {Trace["x"]} x
 * @param {number[]} y
 * @param {string} colour
 * @returns {Trace}
 */
function faint(x, y, colour) {
  return { x, y, mode: "lines", line: { color: colour, width: 1 }, opacity: 0.28, ...STEADY };
}

/**
 * From the smallest to the largest value of each range of steps.
 * @param {Trace["x"]} x
 * @param {Point[]} points
 * @param {string} colour
 * @returns {Trace[]}
 */
function band(x, points, colour) {
  const [low, high] = [points.map((point) => point.low ?? point.y), points.map((point) => point.high ?? point.y)];
  return [ribbon(x, low, high, { line: { color: colour, width: 0.5 }, opacity: 0.5, fillcolor: `${colour}38` })];
}

/**
 * All between two lines: as one that goes there and back, since Plotly takes its time for each line. A logarithmic
 * axis has no place for some values, which are left out.
 * @param {Trace["x"]} x
 * @param {number[]} low
 * @param {number[]} high
 * @param {Record<string, unknown>} look
 * @returns {Trace}
 */
export function ribbon(x, low, high, look) {
  const outline = { x: [...x, ...[...x].reverse()], y: [...high, ...[...low].reverse()] };
  return { ...outline, mode: "lines", fill: "toself", connectgaps: true, ...look, ...STEADY };
}

/**
 * whether a point of a downsampled run covers more than one step
 * @param {Partial<Point>} partial
 */
const isRange = ({ low, first, step }) => low !== undefined && low !== null && first !== step;

/**
 * The steps that a point covers, as a query of the list of trajectories.
 * @param {Pick<Point, "step"> & Partial<Point>} point
 */
export function stepsOf(point) {
  return stepsQuery(isRange(point) ? point : { step: point.step });
}

/** @param {Point} point */
export const stepsText = (point) =>
  isRange(point) ? `steps ${number(point.first)} to ${number(point.step)}` : `step ${number(point.step)}`;

/**
 * Describes a point: its step and value, or those of the range of steps it covers.
 * @param {Point} point
 */
export function describePoint(point) {
  if (!isRange(point)) return `${stepsText(point)}: ${number(point.y)}`;
  return (
    `${stepsText(point)}: mean ${number(point.y)}, ` +
    `${number(point.low)} (step ${number(point.lowAt)}) to ${number(point.high)} (step ${number(point.highAt)})`
  );
}
