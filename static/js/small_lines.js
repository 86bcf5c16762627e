// A small chart of a few lines over steps, drawn as SVG: for rows of charts that share one step axis and one mark.
// Its key shows what the lines are, and their values at the marked step; a click marks a step.

import { element, svg } from "./dom.js";
import { number, percent } from "./format.js";

const HEIGHT = 148;
const MARGIN = { left: 44, right: 8, top: 8, bottom: 20 };

export class SmallLines {
  // {title: text or a node, high, low, whyEmpty, show: how a value is written, onStep}
  constructor({ title, low = null, high = null, whyEmpty = "No data yet.", show = number, onStep = () => {} }) {
    Object.assign(this, { low, high, show, onStep });
    this.plot = element("div", { class: "lines-plot" });
    this.key = element("ul", { class: "lines-key" });
    this.empty = element("p", { class: "lines-empty" }, whyEmpty);
    this.panel = element(
      "section",
      { class: "panel lines" },
      element("h3", {}, title),
      this.plot,
      this.key,
      this.empty,
    );
    this.width = 0;
    new ResizeObserver(() => {
      if (this.shown && this.plot.clientWidth !== this.width) this.draw(this.shown);
    }).observe(this.plot);
    this.plot.addEventListener("click", (event) => this.choose(event));
  }

  // {series: [{name, kind, points: [{step, y}]}], domain: [first, last], mark: step or null, whyEmpty}
  draw(shown) {
    this.shown = shown;
    const series = shown.series.filter((one) => one.points.length);
    if (shown.whyEmpty) this.empty.textContent = shown.whyEmpty;
    this.empty.hidden = series.length > 0;
    this.plot.hidden = this.key.hidden = !series.length;
    if (!series.length) return;
    this.width = this.plot.clientWidth || 320;
    this.axis = { x: this.across(shown.domain), y: this.up(series) };
    this.plot.replaceChildren(this.picture(series, shown));
    this.key.replaceChildren(...series.map((one) => this.entry(one, shown.mark)));
  }

  across([first, last]) {
    const room = this.width - MARGIN.left - MARGIN.right;
    const span = Math.max(1, last - first);
    return {
      of: (step) => MARGIN.left + (room * (step - first)) / span,
      at: (x) => first + (span * (x - MARGIN.left)) / room,
      ticks: ticks(first, last, Math.max(2, Math.floor(room / 70))).filter(Number.isInteger),
    };
  }

  up(series) {
    const values = series.flatMap((one) => one.points.map((point) => point.y));
    const low = values.reduce((least, value) => Math.min(least, value), this.low ?? Infinity);
    const top = values.reduce((most, value) => Math.max(most, value), this.high ?? -Infinity);
    const high = top > low ? top : low + 1;
    const room = HEIGHT - MARGIN.top - MARGIN.bottom;
    return {
      of: (value) => MARGIN.top + room * (1 - (value - low) / (high - low)),
      ticks: ticks(low, high, 3),
    };
  }

  picture(series, { mark }) {
    const { x, y } = this.axis;
    const right = this.width - MARGIN.right;
    const bottom = HEIGHT - MARGIN.bottom;
    const grid = y.ticks.flatMap((value) => [
      svg("line", { class: "lines-grid", x1: MARGIN.left, x2: right, y1: y.of(value), y2: y.of(value) }),
      words(
        "lines-tick lines-tick--y",
        MARGIN.left - 5,
        y.of(value) + 3.5,
        this.show === percent ? `${short(100 * value)}%` : short(value),
      ),
    ]);
    const steps = x.ticks.map((step) => words("lines-tick lines-tick--x", x.of(step), HEIGHT - 5, String(step)));
    const drawn = series.flatMap((one) => this.line(one));
    const marked =
      mark === null || mark === undefined
        ? []
        : [svg("line", { class: "lines-mark", x1: x.of(mark), x2: x.of(mark), y1: MARGIN.top, y2: bottom })];
    return svg(
      "svg",
      { width: this.width, height: HEIGHT, "aria-hidden": "true" }, // the key tells it in words
      ...grid,
      ...steps,
      ...marked,
      ...drawn,
    );
  }

  line({ kind, points, dots }) {
    const { x, y } = this.axis;
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
      element("b", { class: "num" }, point ? this.show(point.y) : "–"),
    );
  }

  choose(event) {
    if (!this.axis) return;
    const step = this.axis.x.at(event.clientX - this.plot.getBoundingClientRect().left);
    this.onStep(Math.round(step));
  }
}

// The last point that is not after `step`; without a step the newest.
export function atOrBefore(points, step) {
  if (step === null || step === undefined) return points.at(-1);
  return points.findLast((point) => point.step <= step);
}

// Round numbers between two others, about so many.
export function ticks(low, high, count) {
  const rough = (high - low) / Math.max(1, count);
  if (!(rough > 0)) return [low];
  const power = 10 ** Math.floor(Math.log10(rough));
  const unit = [1, 2, 5, 10].find((one) => one * power >= rough) * power;
  const found = [];
  for (let value = Math.ceil(low / unit - 1e-9); value * unit <= high + 1e-9 * unit; value += 1)
    found.push(Number((value * unit).toPrecision(12)));
  return found;
}

function short(value) {
  const size = Math.abs(value);
  return size >= 1e4 || (size > 0 && size < 1e-3) ? value.toExponential(0) : String(Number(value.toPrecision(3)));
}

export function words(name, x, y, text) {
  return svg("text", { class: name, x, y }, document.createTextNode(text));
}
