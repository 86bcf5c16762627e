// Parallel coordinates and a scatter plot of runs. Parallel coordinates are lines of an ordinary chart, so that each can
// be hovered and opened, which Plotly's own trace of that name cannot.

import { number } from "../core/format.js";
import { visibleString } from "../core/visible_text.js";
import { looksOf } from "../charts/looks.js";
import { plain } from "../charts/setting_marks.js";

/** @import { Plot, PlotlyLayout, Trace } from "../types.js" */
/** @import { EffectRun, SettingField } from "./effects_panel.js" */

/** @typedef {{ positions: number[], ticks: { at: number, text: string }[] }} AxisScale `positions` from 0 to 1, one for each run */

const OPTIONS = { responsive: true, displayModeBar: false, showTips: false, doubleClick: false };
const WIDE = 30; // times the least value: beyond, an axis of numbers is logarithmic
const MOST_TICKS = 8;
const AXIS = 130; // pixels
const LONGEST = 16; // characters of a label

/**
 * @param {SettingField} field
 * @returns {AxisScale}
 */
export function scaleOf({ values, numbers }) {
  const levels = [...new Set(values)];
  if (!numbers) return scaleOfLevels(values, levels);
  const [low, high] = [Math.min(...numbers), Math.max(...numbers)];
  const along = low > 0 && high / low >= WIDE ? Math.log : (/** @type {number} */ value) => value;
  const position = (/** @type {number} */ value) => (along(value) - along(low)) / (along(high) - along(low));
  const known = [...new Set(numbers)].sort((one, other) => one - other);
  const every = Math.ceil(known.length / MOST_TICKS);
  const shown = known.filter((_, i) => i % every === 0 || i === known.length - 1);
  return {
    positions: numbers.map(position),
    ticks: shown.map((value) => ({ at: position(value), text: values[numbers.indexOf(value)] })),
  };
}

/**
 * @param {string[]} values
 * @param {string[]} levels
 */
function scaleOfLevels(values, levels) {
  const last = Math.max(1, levels.length - 1);
  const every = Math.ceil(levels.length / MOST_TICKS);
  const ticks = levels.map((text, i) => ({ at: i / last, text })).filter((_, i) => i % every === 0);
  return { positions: values.map((value) => levels.indexOf(value) / last), ticks };
}

/**
 * @param {HTMLElement} host
 * @param {{ runs: EffectRun[], fields: SettingField[], title: string }} content
 */
export async function drawParallel(host, { runs, fields, title }) {
  const outcome = { key: "", label: title, values: runs.map(({ y }) => number(y)), numbers: runs.map(({ y }) => y) };
  const axes = [...fields, outcome];
  const scales = axes.map(scaleOf);
  const shades = runs.map((_, i) => scales[scales.length - 1].positions[i]);
  const { css, base } = looksOf(host);
  const x = axes.map((_, i) => i);
  const order = runs.map((_, i) => i).sort((one, other) => shades[one] - shades[other]); // the best on top
  /** @type {Trace[]} */
  const traces = order.map((i) => ({
    x,
    y: scales.map(({ positions }) => positions[i]),
    mode: "lines+markers",
    line: { color: mixed(css("--border-strong") || css("--border"), css("--series-1"), shades[i]), width: 1.5 },
    marker: { size: 4 },
    text: axes.map(() => describe(runs[i], axes, i)),
    hovertemplate: "%{text}<extra></extra>",
    customdata: axes.map(() => ({ run: runs[i].id, step: 0 })),
    cliponaxis: false,
    showlegend: false,
  }));
  const ticks = scales.flatMap((scale, axis) =>
    scale.ticks.map(({ at, text }) => ({
      x: axis,
      y: at,
      text: plain(visibleString(short(text))),
      showarrow: false,
      xanchor: axis === axes.length - 1 ? "right" : "left",
      xshift: axis === axes.length - 1 ? -5 : 5,
      bgcolor: css("--surface"),
      font: { size: 10, color: css("--text-muted") },
    })),
  );
  const lines = axes.map((_, i) => ({
    type: "line",
    x0: i,
    x1: i,
    y0: 0,
    y1: 1,
    line: { color: css("--border"), width: 1 },
  }));
  const layout = /** @type {PlotlyLayout} */ ({
    ...base,
    width: Math.max(host.parentElement?.clientWidth ?? 0, AXIS * axes.length),
    height: 300,
    margin: { l: 24, r: 24, t: 34, b: 12 },
    annotations: ticks,
    shapes: lines,
    xaxis: {
      fixedrange: true,
      showgrid: false,
      zeroline: false,
      side: "top",
      tickvals: x,
      ticktext: axes.map(({ label }, i) => plain(visibleString(i < fields.length ? short(lastPart(label)) : label))),
      range: [-0.15, axes.length - 0.85],
    },
    yaxis: { fixedrange: true, visible: false, range: [-0.06, 1.06] },
  });
  await react(host, traces, layout);
}

/**
 * @param {HTMLElement} host
 * @param {{ runs: EffectRun[], field: SettingField, title: string }} content
 */
export async function drawScatter(host, { runs, field, title }) {
  const { css, base } = looksOf(host);
  const { numbers, values } = field;
  const levels = [...new Set(values)];
  const positive = numbers?.every((value) => value > 0) && Math.max(...numbers) / Math.min(...numbers) >= WIDE;
  /** @type {Trace[]} */
  const traces = [
    {
      x: numbers ?? values.map((value) => levels.indexOf(value)),
      y: runs.map(({ y }) => y),
      mode: "markers",
      marker: { size: 8, color: runs.map(({ colour }) => css(`--series-${colour}`)), opacity: 0.85 },
      text: runs.map((run, i) =>
        describe(run, [field, { ...field, label: title, values: runs.map(({ y }) => number(y)) }], i),
      ),
      hovertemplate: "%{text}<extra></extra>",
      customdata: runs.map(({ id }) => ({ run: id, step: 0 })),
      cliponaxis: false,
      showlegend: false,
    },
  ];
  const axis = { gridcolor: css("--grid-line"), zeroline: false, linecolor: css("--border"), fixedrange: true };
  const ticktext = levels.map((value) => plain(visibleString(short(value))));
  const categories = { tickvals: levels.map((_, i) => i), ticktext, range: [-0.5, levels.length - 0.5] };
  const layout = /** @type {PlotlyLayout} */ ({
    ...base,
    height: 300,
    margin: { l: 56, r: 14, t: 10, b: 46 },
    xaxis: {
      ...axis,
      title: { text: plain(visibleString(field.label)) },
      ...(numbers ? { type: positive ? "log" : "linear" } : categories),
    },
    yaxis: { ...axis, title: { text: plain(visibleString(title)) } },
  });
  await react(host, traces, layout);
}

/**
 * @param {HTMLElement} host
 * @param {Trace[]} traces
 * @param {PlotlyLayout} layout
 */
async function react(host, traces, layout) {
  const plot = /** @type {Plot} */ (/** @type {unknown} */ (host));
  const isNew = !host.classList.contains("js-plotly-plot");
  await globalThis.Plotly.react(plot, traces, layout, OPTIONS);
  if (!isNew) return;
  plot.on?.("plotly_click", ({ points: [{ customdata }] }) => {
    if (customdata && typeof customdata === "object") location.assign(`/runs/${customdata.run}/`);
  });
}

/**
 * @param {EffectRun} run
 * @param {SettingField[]} axes
 * @param {number} i
 */
const describe = ({ name, seed }, axes, i) =>
  [
    `<b>${plain(name)}</b>${seed === null ? "" : `, seed ${seed}`}`,
    ...axes.map(({ label, values }) => `${plain(lastPart(label))}: ${plain(visibleString(values[i]))}`),
  ].join("<br>");

/** @param {string} key */
const lastPart = (key) => key.split(".").slice(-1)[0];

/** @param {string} text */
const short = (text) => (text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text);

/**
 * Between two colours as `#rrggbb`.
 * @param {string} from
 * @param {string} to
 * @param {number} share
 */
export function mixed(from, to, share) {
  const parts = [from, to].map((colour) => [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16)));
  if (parts.flat().some(Number.isNaN)) return to;
  const sum = parts[0].map((one, i) => Math.round(one + share * (parts[1][i] - one)));
  return `#${sum.map((one) => one.toString(16).padStart(2, "0")).join("")}`;
}
