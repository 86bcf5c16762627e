// A small chart of a few lines over steps, drawn as SVG: for rows of charts that share one step axis and one mark. Its
// key shows the values at the marked step, or at the mouse on any chart of the page; a click marks a step. It shows the
// steps of its domain, which is the window of the page's charts; a drag selects another.

import { csv, save } from "../core/downloads.js";
import { element, svg } from "../core/dom.js";
import { number, percent } from "../core/format.js";
import { SmallChartZoom } from "./small_chart_zoom.js";
import { rowsOf } from "./small_chart_csv.js";

/** @import { Series, SmallChartContent, StepPoint, Window } from "../types.js" */

/** @typedef {{ of(step: number): number, at(x: number): number, ticks: number[] }} XAxis */
/** @typedef {{ of(value: number): number, ticks: number[] }} YAxis */
/** @typedef {{ x: XAxis, y: YAxis }} SmallAxes */

/**
 * @typedef {object} SmallChartOptions
 * @property {string | HTMLElement} title
 * @property {number | null} [low] value that the axis begins at or below
 * @property {number | null} [high]
 * @property {string} [whyEmpty]
 * @property {(value: number) => string} [show] a value as text
 * @property {(step: number) => void} [onStep]
 * @property {number} [height] of the picture, in pixels
 */

const HEIGHT = 148;
const MARGIN = { left: 44, right: 16, top: 8, bottom: 20 };

/** @type {Set<SmallChart>} */
const all = new Set();

/**
 * The crosshair of all small charts that are in view; null takes it away.
 * @param {number | null} step
 */
export function markSmallCharts(step) {
  for (const one of all) one.point(step);
}

export class SmallChart {
  /** @type {SmallChartContent | undefined} */
  shown = undefined;
  /** @type {SmallAxes | undefined} */
  axis = undefined;
  /** @type {Series[]} */
  series = [];
  /** @type {number | null} */
  pointed = null;
  /** @type {SVGElement | undefined} */
  hand = undefined;

  /** @param {SmallChartOptions} smallChartOptions */
  constructor({
    title,
    low = null,
    high = null,
    whyEmpty = "No data yet.",
    show = number,
    onStep = () => {},
    height = HEIGHT,
  }) {
    this.low = low;
    this.high = high;
    this.show = show;
    this.onStep = onStep;
    this.height = height;
    this.plot = element("div", { class: "lines-plot" });
    this.plot.style.height = `${height}px`;
    this.key = element("ul", { class: "lines-key" });
    this.empty = element("p", { class: "lines-empty" }, whyEmpty);
    this.heading = element("h3", {}, title);
    this.here = element("span", { class: "lines-here num muted" });
    const name = `Numbers of ${this.heading.textContent}, CSV`;
    const quiet = { class: "button button--quiet button--small", type: "button", "aria-label": name };
    this.saveButton = element("button", quiet, "CSV");
    this.saveButton.addEventListener("click", () => this.download());
    this.panel = element(
      "section",
      { class: "panel lines" },
      element("div", { class: "lines-head" }, this.heading, this.here, this.saveButton),
      this.plot,
      this.key,
      this.empty,
    );
    this.width = 0;
    new ResizeObserver(() => {
      if (this.shown && this.plot.clientWidth !== this.width) this.draw(this.shown);
    }).observe(this.plot);
    this.plot.addEventListener("click", (event) => this.choose(event));
    this.plot.addEventListener("mousemove", (event) => this.send("step-pointed", this.stepAt(event)));
    this.plot.addEventListener("mouseleave", () => this.send("step-pointed", null));
    this.drag = new SmallChartZoom(this, (steps) => this.send("steps-selected", steps));
    all.add(this);
  }

  /**
   * To the page, which has the crosshair and the window of all its charts.
   * @param {string} name
   * @param {unknown} detail
   */
  send(name, detail) {
    this.panel.dispatchEvent(new CustomEvent(name, { bubbles: true, detail }));
  }

  /** @param {SmallChartContent} shown */
  draw(shown) {
    this.shown = shown;
    const series = shown.series.filter((one) => one.points.length);
    if (shown.whyEmpty) this.empty.textContent = shown.whyEmpty;
    this.empty.hidden = series.length > 0;
    this.plot.hidden = this.key.hidden = this.saveButton.hidden = !series.length;
    if (!series.length) return;
    this.width = this.plot.clientWidth || 320;
    const within = series.map((one) => ({ ...one, points: pointsWithin(one.points, shown.domain) }));
    this.axis = { x: this.xAxis(shown.domain), y: this.yAxis(within) };
    this.plot.replaceChildren(this.picture(within, shown, this.axis));
    this.series = series;
    this.point(this.pointed);
  }

  /**
   * A line at `step`, and the values there; without one those of the mark.
   * @param {number | null} step
   */
  point(step) {
    const { axis, shown } = this;
    const changed = this.pointed !== step || step === null;
    this.pointed = step;
    if (!axis || !shown || !this.plot.clientWidth || (!changed && this.hand?.isConnected)) return;
    const inside = step !== null && step >= shown.domain[0] && step <= shown.domain[1];
    this.hand?.remove();
    this.here.textContent = inside ? `step ${step}` : "";
    this.key.replaceChildren(...this.series.map((one) => this.entry(one, inside ? step : shown.mark)));
    if (!inside) return;
    const x = axis.x.of(step);
    this.hand = svg("line", { class: "lines-hand", x1: x, x2: x, y1: MARGIN.top, y2: this.height - MARGIN.bottom });
    this.plot.firstElementChild?.append(this.hand);
  }

  download() {
    const name = (this.heading.textContent ?? "")
      .replace(/[^\w]+/g, "-")
      .toLowerCase()
      .slice(0, 80);
    save(`${name}.csv`, new Blob([csv(rowsOf(this.series))], { type: "text/csv" }));
  }

  /**
   * @param {Window} window
   * @returns {XAxis}
   */
  xAxis([first, last]) {
    const room = this.width - MARGIN.left - MARGIN.right;
    const span = Math.max(1, last - first);
    return {
      of: (step) => MARGIN.left + (room * (step - first)) / span,
      at: (x) => first + (span * (x - MARGIN.left)) / room,
      ticks: ticks(first, last, Math.max(2, Math.floor(room / 70))).filter(Number.isInteger),
    };
  }

  /**
   * @param {Series[]} series
   * @returns {YAxis}
   */
  yAxis(series) {
    const values = series.flatMap((one) =>
      one.points.flatMap((point) => [point.low ?? point.y, point.high ?? point.y]),
    );
    const low = values.reduce((least, value) => Math.min(least, value), this.low ?? Infinity);
    const top = values.reduce((most, value) => Math.max(most, value), this.high ?? -Infinity);
    const high = top > low ? top : low + 1;
    const room = this.height - MARGIN.top - MARGIN.bottom;
    return {
      of: (value) => MARGIN.top + room * (1 - (value - low) / (high - low)),
      ticks: ticks(low, high, 3),
    };
  }

  /**
   * @param {Series[]} series
   * @param {SmallChartContent} smallChartContent
   * @param {SmallAxes} smallAxes
   */
  picture(series, { mark, domain: [first, last] }, { x, y }) {
    const right = this.width - MARGIN.right;
    const bottom = this.height - MARGIN.bottom;
    const grid = y.ticks.flatMap((value) => [
      svg("line", { class: "lines-grid", x1: MARGIN.left, x2: right, y1: y.of(value), y2: y.of(value) }),
      textAt(
        "lines-tick lines-tick--y",
        MARGIN.left - 5,
        y.of(value) + 3.5,
        this.show === percent ? `${short(100 * value)}%` : short(value),
      ),
    ]);
    const steps = x.ticks.map((step) => textAt("lines-tick lines-tick--x", x.of(step), this.height - 5, String(step)));
    const axis = { x, y };
    const drawn = [...series.flatMap((one) => this.band(one, axis)), ...series.flatMap((one) => this.line(one, axis))];
    const marked =
      mark === null || mark === undefined || mark < first || mark > last
        ? []
        : [svg("line", { class: "lines-mark", x1: x.of(mark), x2: x.of(mark), y1: MARGIN.top, y2: bottom })];
    return svg(
      "svg",
      { width: this.width, height: this.height, "aria-hidden": "true" }, // the legend has it as text
      ...grid,
      ...steps,
      ...marked,
      this.inFrame(drawn),
    );
  }

  /**
   * Clips the lines at the edges of the window, but for half a dot.
   * @param {SVGElement[]} drawn
   */
  inFrame(drawn) {
    const [x, width] = [MARGIN.left - 3, Math.max(0, this.width - MARGIN.left - MARGIN.right + 6)];
    return svg("svg", { x, width, height: this.height, viewBox: `${x} 0 ${width} ${this.height}` }, ...drawn);
  }

  /**
   * From the smallest to the largest value of each range of steps.
   * @param {Series} series
   * @param {SmallAxes} smallAxes
   */
  band({ kind, points }, { x, y }) {
    const at = (/** @type {StepPoint} */ { step }, /** @type {number} */ value) =>
      `${x.of(step).toFixed(1)},${y.of(value).toFixed(1)}`;
    return rangesOf(points).map((wide) => {
      const lower = wide.map((point) => at(point, point.low ?? point.y)).reverse();
      const edges = [...wide.map((point) => at(point, point.high ?? point.y)), ...lower];
      return svg("polygon", { class: `lines-band ${kind}`, points: edges.join(" ") });
    });
  }

  /**
   * @param {Series} series
   * @param {SmallAxes} smallAxes
   */
  line({ kind, points, dots }, { x, y }) {
    const path = points.map(({ step, y: value }) => `${x.of(step).toFixed(1)},${y.of(value).toFixed(1)}`).join(" ");
    const line = svg("polyline", { class: `lines-line ${kind}`, points: path });
    const few = dots ?? points.length < 40;
    const round = few
      ? points.map((point) =>
          svg("circle", { class: `lines-dot ${kind}`, cx: x.of(point.step), cy: y.of(point.y), r: 2.2 }),
        )
      : [];
    return [line, ...round];
  }

  /**
   * @param {Series} series
   * @param {number | null | undefined} mark
   */
  entry({ name, kind, points }, mark) {
    const point = atOrBefore(points, mark);
    return element(
      "li",
      {},
      svg(
        "svg",
        { viewBox: "0 0 12 6", "aria-hidden": "true" },
        svg("line", { class: `lines-line ${kind}`, x1: 0, x2: 12, y1: 3, y2: 3 }),
      ),
      element("span", {}, name),
      element("b", { class: "num" }, point ? this.valueText(point) : "–"),
    );
  }

  /**
   * The value as text; of a range of steps the mean and the extremes.
   * @param {StepPoint} point
   */
  valueText(point) {
    if (!isRange(point)) return this.show(point.y);
    return `${this.show(point.y)} (${this.show(point.low ?? point.y)} to ${this.show(point.high ?? point.y)})`;
  }

  /** @param {MouseEvent} event */
  choose(event) {
    const step = this.stepAt(event);
    if (step !== null) this.onStep(step);
  }

  /** Where the lines are, in pixels of the picture. */
  get frame() {
    return {
      left: MARGIN.left,
      right: this.width - MARGIN.right,
      top: MARGIN.top,
      bottom: this.height - MARGIN.bottom,
    };
  }

  /**
   * Pixels from the left, within the frame.
   * @param {MouseEvent} event
   */
  inside(event) {
    const { left, right } = this.frame;
    return Math.min(right, Math.max(left, event.clientX - this.plot.getBoundingClientRect().left));
  }

  /**
   * The step under the mouse; null outside the axis.
   * @param {MouseEvent} event
   */
  stepAt(event) {
    if (!this.axis || !this.shown) return null;
    const step = Math.round(this.axis.x.at(event.clientX - this.plot.getBoundingClientRect().left));
    const [first, last] = this.shown.domain;
    return step < first - 1 || step > last + 1 ? null : Math.min(last, Math.max(first, step));
  }
}

/**
 * Those from the first step to the last, and a neighbour on each side, to which the line continues.
 * @param {StepPoint[]} points
 * @param {Window} window
 */
function pointsWithin(points, [first, last]) {
  const from = points.findLastIndex(({ step }) => step < first);
  const to = points.findIndex(({ step }) => step > last);
  return points.slice(Math.max(0, from), to < 0 ? points.length : to + 1);
}

/**
 * The range that `step` is in, or the last point that is not after it; without a step the newest.
 * @template {StepPoint} P
 * @param {P[]} points
 * @param {number | null | undefined} step
 * @returns {P | undefined}
 */
export function atOrBefore(points, step) {
  if (step === null || step === undefined) return points.at(-1);
  const next = points.find((point) => point.step >= step);
  return next && isRange(next) && (next.first ?? Infinity) <= step
    ? next
    : points.findLast((point) => point.step <= step);
}

/**
 * Ranges that follow one another: between them there may be single steps, where the reader has zoomed in.
 * @param {StepPoint[]} points
 */
function rangesOf(points) {
  /** @type {StepPoint[][]} */
  const found = [];
  points.forEach((point, index) => {
    if (!isRange(point)) return;
    if (index && isRange(points[index - 1])) found[found.length - 1].push(point);
    else found.push([point]);
  });
  return found;
}

/** @param {StepPoint} point */
const isRange = (point) => point.low !== undefined && point.low !== null && (point.first ?? Infinity) < point.step;

/**
 * Round numbers between two others, about so many.
 * @param {number} low
 * @param {number} high
 * @param {number} count
 */
export function ticks(low, high, count) {
  const rough = (high - low) / Math.max(1, count);
  if (!(rough > 0)) return [low];
  const power = 10 ** Math.floor(Math.log10(rough));
  const unit = ([1, 2, 5, 10].find((one) => one * power >= rough) ?? 10) * power;
  const found = [];
  for (let value = Math.ceil(low / unit - 1e-9); value * unit <= high + 1e-9 * unit; value += 1) {
    found.push(Number((value * unit).toPrecision(12)));
  }
  return found;
}

/** @param {number} value */
function short(value) {
  const size = Math.abs(value);
  return size >= 1e4 || (size > 0 && size < 1e-3) ? value.toExponential(0) : String(Number(value.toPrecision(3)));
}

/**
 * @param {string} name
 * @param {number} x
 * @param {number} y
 * @param {string} text
 */
export function textAt(name, x, y, text) {
  return svg("text", { class: name, x, y }, text);
}
