// Parallel coordinates: a line for each run through its settings to its outcome. They are lines of an ordinary chart, so
// that each can be hovered and opened, which Plotly's own trace of that name cannot; so brushes are drawn here too.

import { looksOf } from "../charts/looks.js";
import { scaleOf } from "./axis_scale.js";
import { brushBetween, endsOf, selectedBy } from "./brushes.js";
import { react } from "./run_plot.js";
import { describeRun, heading, onChart, short } from "./setting_labels.js";

/** @import { PlotlyLayout, Trace } from "../types.js" */
/** @import { AxisScale } from "./axis_scale.js" */
/** @import { Brush, BrushAxis } from "./brushes.js" */
/** @import { EffectRun, SettingField } from "./effects_panel.js" */

/** @typedef {{ runs: EffectRun[], fields: SettingField[], title: string, brushes: Brush[] }} ParallelContent */
/** @typedef {BrushAxis & AxisScale} ParallelAxis */

export const OUTCOME = "outcome"; // the key of the last axis
const HEIGHT = 320;
const WIDTH = 126; // pixels between two axes, at least
const MARGIN = { l: 24, r: 64, t: 46, b: 14 };
const [LEFT, RIGHT] = [-0.15, 0.05]; // beyond the first and the last axis
const [BELOW, ABOVE] = [0.05, 1.05];
const NEAR = 14; // pixels beside an axis at which a drag begins
const [LINE, BAND] = [5, 8]; // pixels: of a drag that is none yet, and half of a brush's width

/**
 * @param {ParallelContent} content
 * @returns {ParallelAxis[]}
 */
export function axesOf({ runs, fields, title }) {
  const values = runs.map(({ y }) => String(y));
  const outcome = { key: OUTCOME, label: title, values, numbers: runs.map(({ y }) => y) };
  return [
    ...fields.map((field) => ({ ...field, ...scaleOf(field) })),
    { ...outcome, ...scaleOf(outcome, { linear: true }) },
  ];
}

export class ParallelChart {
  /** @type {ParallelAxis[]} */
  axes = [];
  width = 0;
  /** @type {{ axis: number, from: number, to: number } | null} */
  drag = null;

  /**
   * @param {HTMLElement} host
   * @param {(brush: Brush | null, key: string) => void} onBrush
   */
  constructor(host, onBrush) {
    this.host = host;
    this.onBrush = onBrush;
    /** @type {HTMLElement} */
    this.mark = document.createElement("div");
    this.mark.className = "effects-brush";
    host.addEventListener("pointerdown", (event) => this.begin(event), { capture: true });
    host.addEventListener("pointermove", (event) => {
      host.classList.toggle("is-brushable", this.axisAt(event) !== null);
    });
  }

  /** @param {ParallelContent} content */
  async draw(content) {
    const { runs, fields, title, brushes } = content;
    this.axes = axesOf(content);
    const { axes } = this;
    const outcome = axes[axes.length - 1].positions;
    const selected = selectedBy(brushes, axes, runs.length);
    const { css, base } = looksOf(this.host);
    const x = axes.map((_, i) => i);
    const rank = (/** @type {number} */ i) => (selected[i] ? 1 : 0) + outcome[i] / 2; // the best on top
    const order = runs.map((_, i) => i).sort((one, other) => rank(one) - rank(other));
    /** @type {Trace[]} */
    const traces = order.map((i) => ({
      x,
      y: axes.map(({ positions }) => positions[i]),
      mode: "lines+markers",
      opacity: selected[i] ? 0.85 : 0.35,
      line: {
        color: selected[i] ? mixed(css("--series-2"), css("--series-1"), outcome[i]) : css("--border"),
        width: selected[i] ? 1.5 : 1,
      },
      marker: { size: 4 },
      ...(selected[i]
        ? { text: axes.map(() => describeRun(runs[i], fields, i, title)), hovertemplate: "%{text}<extra></extra>" }
        : { hoverinfo: "skip" }),
      customdata: axes.map(() => ({ run: runs[i].id, step: 0 })),
      cliponaxis: false,
      showlegend: false,
    }));
    this.width = Math.max(this.host.parentElement?.clientWidth ?? 0, WIDTH * axes.length);
    const layout = /** @type {PlotlyLayout} */ ({
      ...base,
      width: this.width,
      height: HEIGHT,
      margin: MARGIN,
      annotations: axes.flatMap(({ ticks }, i) => ticks.map((tick) => tickAt(i, tick, css))),
      shapes: [
        ...x.map((i) => ({ type: "line", x0: i, x1: i, y0: 0, y1: 1, line: { color: css("--border"), width: 1 } })),
        ...this.marks(brushes, css("--accent")),
      ],
      xaxis: {
        fixedrange: true,
        showgrid: false,
        zeroline: false,
        side: "top",
        tickvals: x,
        ticktext: axes.map(({ label, key }) => heading(label, key === OUTCOME ? /: / : /\./)),
        range: [LEFT, axes.length - 1 + RIGHT],
      },
      yaxis: { fixedrange: true, visible: false, range: [-BELOW, ABOVE] },
    });
    await react(this.host, traces, layout);
    this.host.append(this.mark);
  }

  /**
   * @param {Brush[]} brushes
   * @param {string} color
   */
  marks(brushes, color) {
    return brushes.flatMap((brush) => {
      const i = this.axes.findIndex(({ key }) => key === brush.key);
      const ends = i < 0 ? null : endsOf(brush, this.axes[i]);
      if (!ends) return [];
      const half = BAND / this.perAxis;
      const [y0, y1] = [ends[0] - 0.025, ends[1] + 0.025];
      const look = { line: { color, width: 1.5 }, fillcolor: `${color}26`, layer: "below" };
      return [{ type: "rect", x0: i - half, x1: i + half, y0, y1, ...look }];
    });
  }

  get perAxis() {
    return (this.width - MARGIN.l - MARGIN.r) / (this.axes.length - 1 + RIGHT - LEFT);
  }

  /** @param {MouseEvent} event */
  at(event) {
    const { left, top } = this.host.getBoundingClientRect();
    const x = (event.clientX - left - MARGIN.l) / this.perAxis + LEFT;
    const share = (event.clientY - top - MARGIN.t) / (HEIGHT - MARGIN.t - MARGIN.b);
    return { x, y: ABOVE - share * (ABOVE + BELOW) };
  }

  /** @param {MouseEvent} event */
  axisAt(event) {
    const { x, y } = this.at(event);
    const i = Math.round(x);
    const near = Math.abs(x - i) * this.perAxis <= NEAR && y >= -BELOW && y <= ABOVE;
    return near && i >= 0 && i < this.axes.length ? i : null;
  }

  /** @param {PointerEvent} event */
  begin(event) {
    const axis = this.axisAt(event);
    if (axis === null || event.button !== 0) return;
    const [start, from] = [event.clientY, this.at(event).y];
    const move = (/** @type {PointerEvent} */ moved) => {
      if (!this.drag && Math.abs(moved.clientY - start) < LINE) return;
      moved.preventDefault();
      this.drag = { axis, from, to: this.at(moved).y };
      this.showDrag();
    };
    const end = (/** @type {PointerEvent} */ ended) => {
      document.removeEventListener("pointermove", move, true);
      ["pointerup", "pointercancel"].forEach((name) =>
        document.removeEventListener(name, /** @type {any} */ (end), true),
      );
      const { drag } = this;
      this.drag = null;
      this.showDrag();
      const { key } = this.axes[axis];
      if (ended.type === "pointercancel") return;
      if (drag) this.onBrush(brushBetween(this.axes[axis], drag.from, drag.to), key);
    };
    document.addEventListener("pointermove", move, true);
    ["pointerup", "pointercancel"].forEach((name) => document.addEventListener(name, /** @type {any} */ (end), true));
  }

  showDrag() {
    const { drag, mark } = this;
    mark.hidden = !drag;
    if (!drag) return;
    const pixel = (/** @type {number} */ y) =>
      MARGIN.t + ((ABOVE - y) / (ABOVE + BELOW)) * (HEIGHT - MARGIN.t - MARGIN.b);
    const [top, bottom] = [pixel(Math.max(drag.from, drag.to)), pixel(Math.min(drag.from, drag.to))];
    mark.style.left = `${MARGIN.l + (drag.axis - LEFT) * this.perAxis - BAND}px`;
    mark.style.top = `${top}px`;
    mark.style.width = `${2 * BAND}px`;
    mark.style.height = `${bottom - top}px`;
  }
}

/**
 * @param {number} axis
 * @param {{ at: number, text: string }} tick
 * @param {(name: string) => string} css
 */
const tickAt = (axis, { at, text }, css) => ({
  x: axis,
  y: at,
  text: onChart(short(text)),
  showarrow: false,
  xanchor: "left",
  xshift: 6,
  borderpad: 1,
  bgcolor: css("--surface"),
  opacity: 0.9,
  font: { size: 10, color: css("--text") },
});

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
