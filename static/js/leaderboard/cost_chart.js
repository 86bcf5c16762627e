// A measure against what training cost: a point with its interval for each row, and the Pareto front.

import { looksOf } from "../charts/looks.js";
import { plain } from "../charts/setting_marks.js";

/** @import { Plot, PlotlyLayout, Trace } from "../types.js" */

/** @typedef {{ x: number, y: number, low: number | null, high: number | null, text: string, colour: number, front: boolean, device: string, address: string }} CostPoint */
/** @typedef {{ points: CostPoint[], cost: string, measure: string, share: boolean, devices: string[] }} CostChart */

const OPTIONS = { responsive: true, displayModeBar: "hover", displaylogo: false, showTips: false };
const WIDE = 30; // times the least cost: beyond, its axis is logarithmic
const FEW = 100; // points: with more, only those on the front have their intervals drawn
const SYMBOLS = ["circle", "square", "diamond"];

/**
 * @param {HTMLElement} host
 * @param {CostChart} chart
 */
export async function drawCostChart(host, chart) {
  const { css, base } = looksOf(host);
  const plot = /** @type {Plot} */ (/** @type {unknown} */ (host));
  const isNew = !host.classList.contains("js-plotly-plot");
  await globalThis.Plotly.react(plot, tracesOf(chart, css), layoutOf(chart, css, base), OPTIONS);
  if (!isNew) return;
  plot.on?.("plotly_click", ({ points: [{ customdata }] }) => {
    const address = typeof customdata === "number" ? chart.points[customdata].address : "";
    if (address) location.assign(address);
  });
}

/**
 * The other points first, so that the front lies over them; of each device a line and its points.
 * @param {CostChart} chart
 * @param {(name: string) => string} css
 * @returns {Trace[]}
 */
function tracesOf(chart, css) {
  const indices = chart.points.map((_, index) => index);
  const others = indices.filter((index) => !chart.points[index].front);
  const fronts = chart.devices.map((device) =>
    indices.filter((index) => chart.points[index].front && chart.points[index].device === device),
  );
  return [
    ...(others.length ? [pointsOf(chart, others, css, { name: "dominated", front: false })] : []),
    ...fronts.flatMap((front, i) => {
      const name = ["Pareto front", chart.devices[i]].filter(Boolean).join(", ");
      return [lineOf(chart, front, css), pointsOf(chart, front, css, { name, front: true })];
    }),
  ];
}

/**
 * What is had for each cost: level up to the next point of the front.
 * @param {CostChart} chart
 * @param {number[]} front
 * @param {(name: string) => string} css
 * @returns {Trace}
 */
const lineOf = ({ points }, front, css) => ({
  x: front.map((index) => points[index].x),
  y: front.map((index) => points[index].y),
  mode: "lines",
  line: { color: css("--text-muted"), width: 1.5, shape: "hv" },
  hoverinfo: "skip",
  showlegend: false,
});

/**
 * @param {CostChart} chart
 * @param {number[]} chosen
 * @param {(name: string) => string} css
 * @param {{ name: string, front: boolean }} kind
 * @returns {Trace}
 */
function pointsOf({ points, devices }, chosen, css, { name, front }) {
  const shown = chosen.map((index) => points[index]);
  const colours = shown.map(({ colour }) => css(`--series-${colour}`));
  const bars = {
    type: "data",
    symmetric: false,
    array: shown.map(({ y, high }) => (high ?? y) - y),
    arrayminus: shown.map(({ y, low }) => y - (low ?? y)),
    color: css(front ? "--text-muted" : "--border-strong") || css("--border"),
    thickness: front ? 1.2 : 0.8,
    width: 3,
  };
  return {
    x: shown.map(({ x }) => x),
    y: shown.map(({ y }) => y),
    mode: "markers",
    name,
    marker: {
      size: front ? 10 : 7,
      color: colours,
      opacity: front ? 1 : 0.55,
      symbol: shown.map(({ device }) => `${SYMBOLS[devices.indexOf(device)] ?? SYMBOLS[0]}${front ? "" : "-open"}`),
      line: { color: front ? css("--text") : colours, width: front ? 1.5 : 1 },
    },
    text: shown.map(({ text }) => plain(text).replaceAll("\n", "<br>")),
    hovertemplate: "%{text}<extra></extra>",
    customdata: chosen,
    cliponaxis: false,
    ...(front || points.length <= FEW ? { error_y: bars } : {}),
  };
}

/**
 * @param {CostChart} chart
 * @param {(name: string) => string} css
 * @param {Record<string, unknown>} base
 */
function layoutOf({ points, cost, measure, share }, css, base) {
  const axis = { gridcolor: css("--grid-line"), zeroline: false, linecolor: css("--border") };
  const costs = points.map(({ x }) => x);
  const isWide = Math.min(...costs) > 0 && Math.max(...costs) / Math.min(...costs) >= WIDE;
  return /** @type {PlotlyLayout} */ ({
    ...base,
    height: 340,
    margin: { l: 56, r: 16, t: 8, b: 64 },
    dragmode: "zoom",
    showlegend: true,
    legend: { orientation: "h", x: 0, y: -0.2, yanchor: "top" },
    xaxis: { ...axis, title: { text: plain(cost) }, ...(isWide ? { type: "log", dtick: "D2" } : {}) },
    yaxis: { ...axis, title: { text: plain(measure) }, ...(share ? { tickformat: ".0%" } : {}) },
  });
}
