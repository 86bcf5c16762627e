// What a chart says beside its lines: the unit of its values, which of them it does not draw, and why it has none.

import { number } from "../core/format.js";

/** @import { AxisCut, ChartSpec, Metric } from "../types.js" */

/**
 * The unit that all metrics of a chart have; empty for shares, and where the title says it.
 * @param {Pick<Metric, "unit">[]} metrics
 * @param {string} title
 */
export function unitOf(metrics, title) {
  const [unit = "", ...others] = new Set(metrics.map((metric) => metric.unit));
  const isSaid = title.toLowerCase().split(/\W+/).includes(unit);
  return others.length || unit === "share" || isSaid ? "" : unit;
}

/**
 * `cut` is an axis without outliers, `left` the number of values that have no place on a logarithmic one.
 * @param {{ cut: AxisCut | null, left: number }} missing
 */
export function notesOf({ cut, left }) {
  const outside = cut ? `${cut.outside} values are outside the axis, as far as ${number(cut.reach)}` : "";
  return [outside, left ? gapNote(left) : ""].filter(Boolean).join(". ");
}

/** @param {number} left */
const gapNote = (left) =>
  `${left} ${left === 1 ? "value" : "values"} ≤ 0 ${left === 1 ? "is" : "are"} not drawn on the logarithmic axis`;

/**
 * @param {Pick<ChartSpec, "whyEmpty">} spec
 * @param {number} left values that have no place on a logarithmic axis
 */
export function whyEmpty(spec, left) {
  if (left) return "All values are ≤ 0, which a logarithmic axis cannot show.";
  return spec.whyEmpty ?? "No data yet. It appears after the first step.";
}
