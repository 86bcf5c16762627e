// One metric of several runs: a chart as on a run's page, with a line and a key for each run.

import { allValues } from "../charts/chart_menu.js";
import { Chart } from "../charts/chart.js";
import { heldOut, lineTraces } from "./traces.js";
import { coordinate } from "../charts/positions.js";
import { element } from "../core/dom.js";
import { duration, number } from "../core/format.js";
import { describe } from "../core/glossary.js";
import { visibleString } from "../core/visible_text.js";

const PLAIN = 7; // columns of a row without an interval
const known = (value) => value !== null && value !== undefined;

function specOf(name) {
  const { low, high, log, unit } = describe(name);
  const bounded = known(low) && known(high);
  return {
    names: [name],
    range: bounded ? [low, high + 0.02 * (high - low)] : undefined,
    fromZero: low === 0 || unit === "share",
    include: known(high) ? [high] : [],
    log: Boolean(log),
    whyEmpty: "None of the runs that are shown has reported this metric.",
  };
}

export class CompareChart extends Chart {
  // host: what `Chart` asks for, and lines(), onToggle(line), onDrop(chart), quantiles
  constructor(name, host) {
    super(specOf(name), host);
    this.name = name;
    this.drawn = new Map(); // id of a line -> its points
    this.panel.classList.add("compare-chart");
    this.key.classList.add("compare-key");
    this.panel.querySelector(".chart-head").append(this.dropButton());
    this.rows = new Map(); // id of a line -> its row in the key
    this.showKey(host.lines()); // its place is kept before there is anything to draw
  }

  dropButton() {
    const told = { title: "Leave this chart out", "aria-label": `Leave out ${this.title}` };
    const made = element("button", { class: "button button--quiet button--small", type: "button", ...told }, "✕");
    made.addEventListener("click", () => this.host.onDrop(this));
    return made;
  }

  signature(page) {
    return `${super.signature(page)}|${page.store.look}`;
  }

  traces({ store, view }) {
    this.drawn.clear();
    this.showKey(store.lines);
    const lines = store.lines.filter((line) => line.shown.length);
    return lines.flatMap((line) => {
      const colour = this.css(`--series-${line.colour}`);
      const made = lineTraces(line, this.name, { view, colour, quantiles: this.host.quantiles });
      this.drawn.set(line.id, made.points);
      return made.traces;
    });
  }

  // a button for each line, that hides it or shows it again, with its value
  showKey(lines) {
    const ids = lines.map((line) => line.id).join("|");
    if (ids !== this.keyed) {
      this.keyed = ids;
      this.rows = new Map(lines.map((line) => [line.id, this.row(line)]));
      this.key.replaceChildren(...[...this.rows.values()].map(({ item }) => item));
    }
    for (const line of lines)
      this.rows.get(line.id).button.setAttribute("aria-pressed", String(line.shown.length > 0));
  }

  row(line) {
    const name = visibleString(line.name);
    const button = element(
      "button",
      { type: "button", class: "compare-name", title: visibleString(line.of) },
      element("span", { class: `swatch swatch--${line.colour}`, "aria-hidden": "true" }),
      name,
    );
    button.addEventListener("click", () => this.host.onToggle(line.id));
    const value = element("span", { class: "num" });
    return { button, value, item: element("li", {}, button, value) };
  }

  /** Every value of every run that is shown, a row for each step of each run; null if the server did not answer. */
  async table() {
    const runs = this.host.lines().flatMap((line) => line.shown);
    const parts = await Promise.all(runs.map((run) => this.valuesOf(run)));
    if (parts.includes(null)) return null;
    const rows = parts.flatMap((values, i) => values.map((row) => [runs[i].id, runs[i].name, ...row]));
    const bounds = rows.some((row) => row.length > PLAIN) ? [`${this.name}/low`, `${this.name}/high`] : [];
    return [["run", "name", "step", "tokens", "training_seconds", "unix_time", this.name, ...bounds], ...rows];
  }

  async valuesOf(run) {
    const evaluations = heldOut(run, this.name);
    if (!evaluations.length) return allValues(`${run.address}metrics`, [this.name]);
    return evaluations.map(({ step, time, success, low, high }) => {
      const place = run.curves.place(step);
      return [step, place?.tokens, place?.seconds, time, success, low, high];
    });
  }

  // what a click on a point of a run opens
  pointAt({ run, step }) {
    const point = this.drawn.get(run).find((one) => one.step === step);
    return { ...point, run };
  }

  nearest(distance) {
    let best = null;
    for (const points of this.drawn.values())
      for (const point of points) {
        const far = distance(point);
        if (best === null || far < best.far) best = { far, point };
      }
    return best?.point ?? null;
  }

  showNewest() {
    this.last.textContent = "";
    this.tellValues((points) => points.at(-1));
  }

  mark(place) {
    super.mark(place);
    if (!place || !this.page || !this.mounted) return;
    const { axis } = this.page.view;
    const chosen = place.by === this && place.line;
    this.last.textContent = chosen ? `${visibleString(chosen.name)}, ${wordsOf(place)}` : whereabouts(place, axis);
    this.tellValues((points) => pointAt(points, coordinate(place, axis), axis));
  }

  tellValues(pick) {
    for (const [id, { value }] of this.rows) {
      const point = pick(this.drawn.get(id) ?? []);
      value.textContent = point ? number(point.y) : "";
    }
  }

  // ← and → go along a line, ↑ and ↓ to another; the rest as on any chart
  byKey(event) {
    if (!this.page || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Enter" && this.marked?.line?.shown.length === 1)
      this.host.onPoint({ ...this.marked, run: this.marked.line.shown[0].id });
    else if (event.key === "Escape") this.host.onHover(null);
    else this.zoomByKey(event);
    const along = { ArrowLeft: -1, ArrowRight: 1 }[event.key] ?? 0;
    const across = { ArrowUp: -1, ArrowDown: 1 }[event.key] ?? 0;
    const lines = this.host.lines().filter((line) => this.drawn.get(line.id)?.length);
    if ((!along && !across) || !lines.length) return;
    event.preventDefault();
    const before = lines.findIndex((line) => line.id === this.marked?.line?.id);
    const line = lines[(Math.max(0, before) + (before < 0 ? 0 : across) + lines.length) % lines.length];
    const points = this.drawn.get(line.id);
    const at = this.marked ? points.findIndex((point) => point.step >= this.marked.step) : points.length - 1;
    const next = (at < 0 ? points.length - 1 : at) + (this.marked ? along : 0);
    this.last.setAttribute("aria-live", "polite");
    this.marked = { ...points[Math.min(points.length - 1, Math.max(0, next))], line, by: this };
    this.host.onHover(this.marked);
  }
}

const wordsOf = ({ step, y }) => `step ${number(step)}: ${number(y)}`;

const WHEREABOUTS = {
  step: ({ step }) => `step ${number(step)}`,
  tokens: ({ tokens }) => `${number(tokens)} tokens`,
  seconds: ({ seconds }) => duration(seconds),
  elapsed: ({ elapsed }) => duration(elapsed),
  time: ({ time }) => new Date(1000 * time).toLocaleString(),
};
const whereabouts = (place, axis) => WHEREABOUTS[axis](place);

// The point that is nearest to `x`; none beyond the ends of the line.
function pointAt(points, x, axis) {
  if (!points.length || x < coordinate(points[0], axis) || x > coordinate(points.at(-1), axis)) return null;
  let [low, high] = [0, points.length - 1];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (coordinate(points[middle], axis) <= x) low = middle;
    else high = middle;
  }
  const nearer = x - coordinate(points[low], axis) <= coordinate(points[high], axis) - x ? low : high;
  return points[nearer];
}
