// The outcome of runs over one of their settings.

import { looksOf } from "../charts/looks.js";
import { scaleOf } from "./axis_scale.js";
import { react } from "./run_plot.js";
import { describeRun, onChart, short } from "./setting_labels.js";

/** @import { PlotlyLayout, Trace } from "../types.js" */
/** @import { EffectRun, SettingField } from "./effects_panel.js" */

const BESIDE = 0.06; // of the axis, beyond its ends

/**
 * @param {HTMLElement} host
 * @param {{ runs: EffectRun[], field: SettingField, title: string, selected: boolean[] }} content
 */
export async function drawScatter(host, { runs, field, title, selected }) {
  const { css, base } = looksOf(host);
  const { positions, ticks } = scaleOf(field);
  /** @type {Trace[]} */
  const traces = [
    {
      x: positions,
      y: runs.map(({ y }) => y),
      mode: "markers",
      marker: {
        size: 8,
        color: runs.map(({ colour }, i) => css(selected[i] ? `--series-${colour}` : "--border")),
        opacity: selected.map((one) => (one ? 0.85 : 0.5)),
      },
      text: runs.map((run, i) => describeRun(run, [field], i, title)),
      hovertemplate: "%{text}<extra></extra>",
      customdata: runs.map(({ id }) => ({ run: id, step: 0 })),
      cliponaxis: false,
      showlegend: false,
    },
  ];
  const axis = { gridcolor: css("--grid-line"), zeroline: false, linecolor: css("--border"), fixedrange: true };
  const layout = /** @type {PlotlyLayout} */ ({
    ...base,
    height: 320,
    margin: { l: 56, r: 14, t: 10, b: 50 },
    xaxis: {
      ...axis,
      title: { text: onChart(field.label) },
      tickvals: ticks.map(({ at }) => at),
      ticktext: ticks.map(({ text }) => onChart(short(text))),
      range: [-BESIDE, 1 + BESIDE],
    },
    yaxis: { ...axis, title: { text: onChart(title) } },
  });
  await react(host, traces, layout);
}
