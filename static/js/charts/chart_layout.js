// How a chart is laid out: axes, the window that all charts of a page share, alerts and changed settings as marks.

import { alertMarks } from "./alert_marks.js";
import { forkMarks } from "./lineage.js";
import { settingMarks } from "./setting_marks.js";

/** @import { AxisCut, ChartCurves, ChartSpec, Ends, MarkSource, PlotlyLayout, View } from "../types.js" */

export const OPTIONS = {
  responsive: true,
  displaylogo: false,
  showSendToCloud: false,
  plotlyServerURL: "",
  showTips: false,
  doubleClick: false, // ours: it resets the window of all charts
  modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d", "resetScale2d", "toImage"],
};

/** @typedef {{ spec: ChartSpec, log: boolean, cut: AxisCut | null, small: boolean, view: View }} Look */

/**
 * `css(name)` is a colour of the theme that the chart is in; `cut` a range without outliers, or null.
 * @param {Look & MarkSource & { store: { curves: Pick<ChartCurves, "ends"> } }} look
 * @returns {PlotlyLayout}
 */
export function layoutOf({ spec, log, cut, store, view, css, small }) {
  const muted = css("--text-muted");
  const marks = [alertMarks({ store, view, css }), settingMarks({ store, view, css })];
  marks.push(forkMarks({ forks: store.forks ?? [], view, css }));
  const axis = {
    gridcolor: css("--grid-line"),
    zeroline: false,
    linecolor: css("--border"),
    tickfont: { size: 11, color: muted },
    ticklabeloverflow: "allow", // to measure every label would be a sixth of a drawing; the margins hold them
  };
  return {
    margin: { l: small ? 48 : 56, r: 14, t: 7, b: 28 },
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: css("--font-text"), size: 11, color: muted },
    hovermode: "closest",
    hoverlabel: {
      bgcolor: css("--surface"),
      bordercolor: css("--border"),
      font: { color: css("--text"), size: 12 },
    },
    uirevision: `${view.axis}-${view.revision}`,
    modebar: { bgcolor: "rgba(0,0,0,0)", color: muted, activecolor: css("--text") },
    dragmode: matchMedia("(pointer: coarse)").matches ? false : "zoom", // a finger scrolls the page
    xaxis: { ...axis, ...xRange(view), ...xTicks(view, store.curves.ends(view.axis)) },
    yaxis: {
      ...axis,
      type: log ? "log" : "linear",
      exponentformat: "e",
      nticks: 6,
      uirevision: `${view.axis}-${view.revision}-${view.outliers}-${log}`,
      ...yRange(spec, log, cut),
    },
    shapes: marks.flatMap((one) => one.shapes),
    annotations: marks.flatMap((one) => one.annotations),
  };
}

const FEW = 8; // steps: of fewer in view each has its tick

/**
 * Steps are whole numbers, and large ones are short: 12.5k.
 * @param {Pick<View, "axis" | "window">} view
 * @param {Ends | null} ends of all data
 */
export function xTicks({ axis, window }, ends) {
  if (axis === "time") return {};
  if (axis === "tokens") return { tickformat: "~s" };
  const [first, last] = window ?? [ends?.first ?? 0, ends?.last ?? 0];
  const tickformat = axis !== "seconds" && axis !== "elapsed" && last >= 1e5 ? "~s" : ",~f";
  const isOfSteps = axis === "step" || axis === "lineage";
  return isOfSteps && last - first < FEW ? { tickformat, tick0: 0, dtick: 1 } : { tickformat };
}

/**
 * The reader's window is ours to keep: Plotly gets it again whenever any chart changed it.
 * @param {View} view
 */
function xRange(view) {
  const uirevision = `${view.axis}-${view.revision}-${view.zooms}`;
  return view.window ? { uirevision, range: view.range(), autorange: false } : { uirevision, rangemode: "nonnegative" };
}

/**
 * @param {ChartSpec} spec
 * @param {boolean} log
 * @param {AxisCut | null} cut
 */
function yRange(spec, log, cut) {
  if (cut) return { range: log ? cut.range.map((value) => Math.log10(Math.max(value, 1e-12))) : cut.range };
  if (log) return { tickformat: "~g" };
  if (spec.range) return { range: [...spec.range] }; // a copy: Plotly writes a reader's zoom into it
  return { rangemode: spec.fromZero ? "tozero" : "normal", autorangeoptions: { include: spec.include ?? [] } };
}
