// A plot in which each point is of a run: a click opens the run.

/** @import { Plot, PlotlyLayout, Trace } from "../types.js" */

const OPTIONS = { responsive: true, displayModeBar: false, showTips: false, doubleClick: false };

/**
 * @param {HTMLElement} host
 * @param {Trace[]} traces
 * @param {PlotlyLayout} layout
 */
export async function react(host, traces, layout) {
  const plot = /** @type {Plot} */ (/** @type {unknown} */ (host));
  const isNew = !host.classList.contains("js-plotly-plot");
  await globalThis.Plotly.react(plot, traces, layout, OPTIONS);
  if (!isNew) return;
  plot.on?.("plotly_click", ({ points: [{ customdata }] }) => {
    if (customdata && typeof customdata === "object") location.assign(`/runs/${customdata.run}/`);
  });
}
