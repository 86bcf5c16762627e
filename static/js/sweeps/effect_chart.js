// The effect of one axis, as Plotly draws it: the mean of each value with its interval over training seeds.

import { element } from "../core/dom.js";
import { number } from "../core/format.js";
import { visibleString } from "../core/visible_text.js";

/** @import { Plot, PlotlyLayout, Trace } from "../types.js" */

/** @typedef {{ label: string, mean: number, low: number | null, high: number | null, seeds: number, runs: number }} EffectPoint */
/** @typedef {{ axis: string, points: EffectPoint[], drawn: boolean, log: boolean }} Effect */
/** @typedef {{ measure: string, share: boolean, range: [number, number] | null }} About what is measured, whether it is a share, and the range of all charts */

const OPTIONS = { responsive: true, displayModeBar: false, showTips: false, doubleClick: false };
const MANY = 14; // characters: longer labels are shortened below the axis

export class EffectChart {
  /** @param {string} axis */
  constructor(axis) {
    const frame = { class: "chart-plot", role: "img", "aria-label": `Effect of ${axis}` };
    this.plot = /** @type {Plot} */ (/** @type {unknown} */ (element("div", frame)));
    this.empty = element("p", { class: "muted sweep-empty" }, "No run has a final evaluation yet.");
    this.heading = element("h3", { class: "panel-title" }, axis);
    this.panel = element("section", { class: "panel sweep-effect" }, this.heading, this.plot, this.empty);
  }

  /**
   * @param {Effect} effect
   * @param {About} about
   */
  async draw(effect, about) {
    if (about.share) effect = { ...effect, points: effect.points.map(withinShares) };
    this.empty.hidden = effect.points.length > 0;
    this.plot.hidden = !effect.points.length;
    if (effect.points.length) {
      await globalThis.Plotly.react(this.plot, [this.trace(effect)], this.layout(effect, about), OPTIONS);
    }
  }

  /**
   * @param {Effect} effect whose intervals are within what can be measured
   * @returns {Trace}
   */
  trace({ points, drawn }) {
    const colour = this.css("--series-1");
    return {
      // levels stand side by side in their order; drawn values are where they are
      x: points.map(({ label }, index) => (drawn ? Number(label) : index)),
      y: points.map(({ mean }) => mean),
      text: points.map(describe),
      hovertemplate: "%{text}<extra></extra>",
      mode: drawn || points.length < 2 ? "markers" : "lines+markers",
      line: { color: colour, width: 1.25, dash: "dot" },
      marker: { color: colour, size: 7, symbol: points.map(({ seeds }) => (seeds ? "circle" : "circle-open")) },
      error_y: {
        type: "data",
        symmetric: false,
        array: points.map(({ mean, high }) => (high ?? mean) - mean),
        arrayminus: points.map(({ mean, low }) => mean - (low ?? mean)),
        color: colour,
        thickness: 1.2,
        width: 4,
      },
      cliponaxis: false,
    };
  }

  /**
   * @param {Effect} effect
   * @param {About} about
   * @returns {PlotlyLayout}
   */
  layout({ points, drawn, log }, { measure, range }) {
    const muted = this.css("--text-muted");
    const axis = { gridcolor: this.css("--grid-line"), zeroline: false, linecolor: this.css("--border") };
    const levels = {
      tickvals: points.map((_, index) => index),
      ticktext: points.map(({ label }) => visibleString(short(label))),
      range: [-0.5, points.length - 0.5],
    };
    return {
      margin: { l: 52, r: 14, t: 8, b: 34 },
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: this.css("--font-text"), size: 11, color: muted },
      hovermode: "closest",
      hoverlabel: {
        bgcolor: this.css("--surface"),
        bordercolor: this.css("--border"),
        font: { color: this.css("--text"), size: 12 },
      },
      dragmode: false,
      showlegend: false,
      xaxis: {
        ...axis,
        fixedrange: true,
        ...(drawn ? { type: log ? "log" : "linear", exponentformat: "power" } : levels),
      },
      yaxis: { ...axis, fixedrange: true, title: { text: measure }, ...(range ? { range } : {}) },
    };
  }

  /** @param {string} name */
  css(name) {
    return getComputedStyle(this.panel).getPropertyValue(name).trim();
  }
}

/**
 * An interval by t may reach beyond what a share can be.
 * @param {EffectPoint} point
 * @returns {EffectPoint}
 */
const withinShares = (point) => ({
  ...point,
  low: point.low === null ? null : Math.max(0, point.low),
  high: point.high === null ? null : Math.min(1, point.high),
});

/**
 * Around all intervals, so that the effects of several axes can be compared; of shares within 0 and 1.
 * @param {Effect[]} effects
 * @param {boolean} share
 * @returns {[number, number] | null} null without a point
 */
export function commonRange(effects, share) {
  const points = effects.flatMap((one) => (share ? one.points.map(withinShares) : one.points));
  if (!points.length) return null;
  const low = Math.min(...points.map((one) => one.low ?? one.mean));
  const high = Math.max(...points.map((one) => one.high ?? one.mean));
  const room = 0.12 * (high - low) || 0.12 * Math.abs(high) || 0.12;
  return share
    ? [Math.max(-0.01, low - Math.max(0.05, room)), Math.min(1.01, high + Math.max(0.05, room))]
    : [low - room, high + room];
}

/**
 * `0.05: 0.64 [0.59, 0.69], 3 seeds, 6 runs`. Seeds without an interval are one, or all equal.
 * @param {EffectPoint} point
 */
export function describe({ label, mean, low, high, seeds, runs }) {
  const interval = low === null || high === null ? "" : ` [${number(low)}, ${number(high)}]`;
  const over = seeds
    ? `${seeds} seed${seeds === 1 ? "" : "s"}${!interval && seeds > 1 ? ", all equal" : ""}`
    : "no seed complete";
  return visibleString(`${escaped(label)}: ${number(mean)}${interval}, ${over}, ${runs} run${runs === 1 ? "" : "s"}`);
}

/**
 * Plotly reads some markup in texts.
 * @param {string} text
 */
const escaped = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");

/** @param {string} text */
const short = (text) => escaped(text.length > MANY ? `${text.slice(0, MANY - 1)}…` : text);
