// Charts by pattern: a name that ends with * stands for every metric with that prefix. Each has a chart of its own, or,
// where the chart has a title, all of them are lines in one.

/** @import { ChartChoice } from "../types.js" */

const MOST = 8; // lines in a chart, one for each colour
const { compare } = new Intl.Collator("en", { numeric: true }); // sampler_2 before sampler_10

/**
 * The charts with the metrics that there are in place of patterns. A metric of a chart, or of an earlier pattern, is not
 * matched again.
 * @param {ChartChoice[]} charts
 * @param {Iterable<string>} keys names of metrics
 * @returns {ChartChoice[]}
 */
export function withoutPatterns(charts, keys) {
  const claimed = new Set(charts.flatMap((chart) => chart.names));
  return charts.flatMap((chart) => {
    const [name] = chart.names;
    if (!name.endsWith("*")) return [chart];
    const isMatch = (/** @type {string} */ key) => key.startsWith(name.slice(0, -1)) && !claimed.has(key);
    const matching = [...keys].filter(isMatch).sort(compare);
    matching.forEach((key) => claimed.add(key));
    return chart.title ? together(chart, matching) : matching.map((key) => ({ title: "", names: [key] }));
  });
}

/**
 * @param {ChartChoice} chart
 * @param {string[]} names
 * @returns {ChartChoice[]}
 */
function together(chart, names) {
  const count = Math.ceil(names.length / MOST);
  return Array.from({ length: count }, (_, i) => ({
    ...chart,
    title: count > 1 ? `${chart.title} (${i + 1} of ${count})` : chart.title,
    names: names.slice(i * MOST, (i + 1) * MOST),
  }));
}
