// The charts of a report with zoom and hover, drawn by Plotly from the numbers in the page, over the server's SVG.

import { DASHES, looksOf } from "../charts/looks.js";
import { plain } from "../charts/setting_marks.js";
import { element, findAll } from "../core/dom.js";

/** @import { Plot, PlotlyLayout, Trace } from "../types.js" */

/** @typedef {{ name: string, colour: number, dash: number, x: number[], mean: number[], low: (number | null)[], high: (number | null)[], whole: number }} FigureLine */
/** @typedef {{ title: string, axis: string, log: boolean, across: [number, number], up: [number, number], lines: FigureLine[] }} Figure */
/** @typedef {Record<string, { xaxis: number[], yaxis: number[] }>} Windows */

const OPTIONS = { responsive: true, displayModeBar: "hover", displaylogo: false, showTips: false };
const RATIO = 0.5; // of height to width, as of the drawn chart

/**
 * @param {HTMLElement} body
 * @param {Windows} [windows] what was zoomed into, by `windowsOf` the report before
 */
export function drawCharts(body, windows = {}) {
  findAll(body, "[data-chart]").forEach((panel, index) => {
    const drawn = panel.querySelector("svg");
    const data = panel.querySelector("script[type='application/json']")?.textContent;
    if (!drawn || !data) return;
    const plot = panel.querySelector(".report-plot") ?? element("div", { class: "report-plot chart-plot" });
    if (!plot.isConnected) drawn.before(plot);
    draw(/** @type {Plot} */ (/** @type {unknown} */ (plot)), JSON.parse(data), windows[index]).then(() => {
      drawn.toggleAttribute("hidden", true); // the same without scripts
    });
  });
}

/**
 * Where a reader has zoomed in, by the index of the chart.
 * @param {HTMLElement} body
 * @returns {Windows}
 */
export function windowsOf(body) {
  /** @type {Windows} */
  const found = {};
  findAll(body, "[data-chart]").forEach((panel, index) => {
    const plot = /** @type {Plot | null} */ (/** @type {unknown} */ (panel.querySelector(".report-plot")));
    const { xaxis, yaxis, meta } = /** @type {any} */ (plot?.layout ?? {});
    if (meta && (String(xaxis.range) !== String(meta.across) || String(yaxis.range) !== String(meta.up))) {
      found[index] = { xaxis: xaxis.range, yaxis: yaxis.range };
    }
  });
  return found;
}

/**
 * @param {Plot} plot
 * @param {Figure} figure
 * @param {{ xaxis: number[], yaxis: number[] }} [zoomed]
 */
async function draw(plot, figure, zoomed) {
  const { css, base } = looksOf(plot);
  const { axis, log, across, up } = figure;
  const line = { gridcolor: css("--grid-line"), zeroline: false, linecolor: css("--border") };
  const layout = /** @type {PlotlyLayout} */ ({
    ...base,
    height: Math.max(220, Math.round(RATIO * plot.clientWidth)),
    margin: { l: 56, r: 12, t: 8, b: 40 },
    dragmode: "zoom",
    hovermode: "x",
    meta: { across, up },
    xaxis: { ...line, title: { text: plain(axis) }, range: [...(zoomed?.xaxis ?? across)] },
    yaxis: { ...line, type: log ? "log" : "linear", range: [...(zoomed?.yaxis ?? up)] },
  });
  const traces = figure.lines.flatMap((one) => tracesOf(one, css(`--series-${one.colour}`)));
  await globalThis.Plotly.react(plot, traces, layout, OPTIONS);
}

/**
 * @param {FigureLine} line
 * @param {string} colour
 * @returns {Trace[]}
 */
function tracesOf({ name, dash, x, mean, low, high, whole }, colour) {
  const there = low
    .map((value, i) => (value === null || high[i] === null || i >= whole ? -1 : i))
    .filter((i) => i >= 0);
  const numbers = (/** @type {(number | null)[]} */ values) => there.map((i) => Number(values[i]));
  const hidden = { mode: "lines", hoverinfo: "skip", showlegend: false };
  const label = plain(name);
  const words = x.map((_, i) => (low[i] === null || low[i] === undefined ? "" : ` [${low[i]}, ${high[i]}]`));
  /** @type {Trace[]} */
  const band = there.length
    ? [
        {
          x: [...there.map((i) => x[i]), ...there.map((i) => x[i]).reverse()],
          y: [...numbers(high), ...numbers(low).reverse()],
          fill: "toself",
          fillcolor: `${colour}2e`,
          line: { width: 0 },
          ...hidden,
        },
      ]
    : [];
  return [
    ...band,
    {
      x: x.slice(0, whole),
      y: mean.slice(0, whole),
      text: words.slice(0, whole),
      mode: whole === 1 ? "markers" : "lines",
      line: { color: colour, width: 1.5, dash: DASHES[dash] },
      hovertemplate: `${label}: %{y:.4g}%{text}<extra></extra>`,
      name: label,
    },
    ...(whole > 0 && whole < x.length
      ? [
          {
            x: x.slice(whole - 1),
            y: mean.slice(whole - 1),
            mode: "lines",
            line: { color: colour, width: 1.25, dash: "dot" },
            hovertemplate: `${label}: %{y:.4g}, some runs have ended<extra></extra>`,
            name: label,
          },
        ]
      : []),
  ];
}
