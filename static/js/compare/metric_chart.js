// One metric of several runs: a chart as on a run's page, with a line and a key for each run.

import { allValues } from "../charts/chart_menu.js";
import { Chart } from "../charts/chart.js";
import { heldOut, lineTraces } from "./traces.js";
import { coordinate, nearestOf } from "../charts/positions.js";
import { element } from "../core/dom.js";
import { duration, number } from "../core/format.js";
import { describe } from "../core/glossary.js";
import { withModifier } from "../core/keys.js";
import { boundedRange } from "../run/panels.js";
import { visibleString } from "../core/visible_text.js";

/** @import { Axis, ChartHost, ChartPage, ChartSpec, Point, Position } from "../types.js" */
/** @import { ComparedRun } from "./compared_runs.js" */
/** @import { GroupCurves } from "./group_curves.js" */
/** @import { Line } from "./lines.js" */

const MOST_WITH_RAW = 16; // lines: of more, raw values would hide the smoothed ones, and drawing takes twice as long
const PLAIN = 7; // columns of a row without an interval

/**
 * @param {string} name
 * @returns {ChartSpec}
 */
function specOf(name) {
  const { low, high, log, unit } = describe(name);
  const top = high ?? null;
  const bottom = low ?? null;
  return {
    names: [name],
    range: bottom !== null && top !== null ? boundedRange(bottom, top) : undefined,
    fromZero: low === 0 || unit === "share",
    include: top === null ? [] : [top],
    log: Boolean(log),
    whyEmpty: "None of the shown runs has reported this metric.",
  };
}

/**
 * @typedef {object} Lines
 * @property {() => Line[]} lines
 * @property {(id: string) => void} onToggle
 * @property {(chart: CompareChart) => void} onDrop
 * @property {(point: Pick<Point, "step"> & Partial<Point> & { run: string }) => void} onRunPoint
 * @property {GroupCurves} groups
 */

/** @typedef {ChartHost & Lines} CompareHost */
/** @typedef {ChartPage & { store: { lines: Line[], look: string } }} ComparePage */
/** @typedef {Position & { y?: number, of?: string, line?: Line, by?: CompareChart }} MarkedLine */
/** @typedef {{ button: HTMLElement, value: HTMLElement, item: HTMLElement }} KeyRow */

/** @extends {Chart<ComparePage>} */
export class CompareChart extends Chart {
  /**
   * @param {string} name
   * @param {CompareHost} host
   */
  constructor(name, host) {
    super(specOf(name), host);
    this.lines = host;
    this.name = name;
    this.keyed = "";
    /** @type {Map<string, Point[]>} by the id of a line */
    this.drawn = new Map();
    /** @type {Map<string, KeyRow>} by the id of a line */
    this.rows = new Map();
    this.panel.classList.add("compare-chart");
    this.key.classList.add("compare-key");
    this.head.append(this.dropButton());
    this.showKey(host.lines()); // it has its height before there is anything to draw
  }

  dropButton() {
    const labels = { title: "Leave this chart out", "aria-label": `Leave out ${this.title}` };
    const made = element("button", { class: "button button--quiet button--small", type: "button", ...labels }, "✕");
    made.addEventListener("click", () => this.lines.onDrop(this));
    return made;
  }

  /** @param {ComparePage} page */
  signature(page) {
    return `${super.signature(page)}|${page.store.look}`;
  }

  /** @param {ComparePage} comparePage */
  traces({ store, view }) {
    this.drawn.clear();
    this.showKey(store.lines);
    const lines = store.lines.filter((line) => line.shown.length);
    const drawnAlready = lines.flatMap((line) => line.shown.map(({ id }) => id));
    return lines.flatMap((line) => {
      const colour = this.css(`--series-${line.colour}`);
      const made = lineTraces(line, this.name, {
        view,
        colour,
        log: this.log,
        bare: lines.length > MOST_WITH_RAW,
        groups: this.lines.groups,
        drawnAlready,
      });
      this.drawn.set(line.id, made.points);
      return made.traces;
    });
  }

  /**
   * A button for each line, which hides it or shows it again, with its value.
   * @param {Line[]} lines
   */
  showKey(lines) {
    const ids = lines.map((line) => `${line.id} ${line.name}`).join("|"); // the name of a group says how many are shown
    if (ids !== this.keyed) {
      this.keyed = ids;
      this.key.classList.toggle(
        "compare-key--groups",
        lines.some((line) => line.isMean),
      );
      this.rows = new Map(lines.map((line) => [line.id, this.row(line)]));
      this.key.replaceChildren(...[...this.rows.values()].map(({ item }) => item));
    }
    for (const line of lines) {
      this.rows.get(line.id)?.button.setAttribute("aria-pressed", String(line.shown.length > 0));
    }
  }

  /** @param {Line} line */
  row(line) {
    const name = visibleString(line.name);
    const button = element(
      "button",
      { type: "button", class: "compare-name", title: visibleString(line.of) },
      swatch(line),
      name,
    );
    button.addEventListener("click", () => this.lines.onToggle(line.id));
    const value = element("span", { class: "num" });
    return { button, value, item: element("li", {}, button, value) };
  }

  /** Every value of every run that is shown, a row for each step of each run; null if the server did not answer. */
  async table() {
    const runs = this.lines.lines().flatMap((line) => line.shown);
    const parts = await Promise.all(runs.map((run) => this.valuesOf(run)));
    if (parts.includes(null)) return null;
    const rows = parts.flatMap((values, i) => (values ?? []).map((row) => [runs[i].id, runs[i].name, ...row]));
    const bounds = rows.some((row) => row.length > PLAIN) ? [`${this.name}/low`, `${this.name}/high`] : [];
    return [["run", "name", "step", "tokens", "training_seconds", "unix_time", this.name, ...bounds], ...rows];
  }

  /** @param {ComparedRun} run */
  async valuesOf(run) {
    const evaluations = heldOut(run, this.name);
    if (!evaluations.length) return allValues(`${run.address}metrics`, [this.name]);
    return evaluations.map(({ step, time, success, low, high }) => {
      const position = run.curves.position(step);
      return [step, position?.tokens, position?.seconds, time, success, low, high];
    });
  }

  /**
   * What a click on a point of a run opens.
   * @param {number | { run: string, step: number }} chosen
   */
  pointAt(chosen) {
    if (typeof chosen === "number") return { step: chosen };
    const point = this.drawn.get(chosen.run)?.find((one) => one.step === chosen.step && !one.of);
    return { ...point, step: chosen.step, run: chosen.run };
  }

  /** @param {(position: Position) => number} distance */
  nearest(distance) {
    return nearestOf([...this.drawn.values()].flat(), distance);
  }

  showNewest() {
    this.last.textContent = "";
    this.showValues((points) => points.at(-1));
  }

  /** @param {MarkedLine | null} position */
  mark(position) {
    super.mark(position);
    if (!position || !this.page || !this.mounted) return;
    const { axis } = this.page.view;
    const line = position.by === this ? position.line : undefined;
    this.last.textContent = line ? `${visibleString(line.name)}, ${wordsOf(position)}` : POSITION[axis](position);
    this.showValues((points) => pointAlong(points, coordinate(position, axis), axis));
  }

  /** @param {(points: Point[]) => Point | null | undefined} pick */
  showValues(pick) {
    for (const [id, { value }] of this.rows) {
      const point = pick(this.drawn.get(id) ?? []);
      value.textContent = point ? number(point.y) : "";
    }
  }

  /**
   * ← and → go along a line, ↑ and ↓ to another; the rest as on any chart
   * @param {KeyboardEvent} event
   */
  byKey(event) {
    if (!this.page || withModifier(event)) return;
    /** @type {MarkedLine | null} */
    const marked = this.marked;
    if (event.key === "Enter" && marked?.line?.shown.length === 1 && !marked.of) {
      this.lines.onRunPoint({ ...marked, run: marked.line.shown[0].id });
    } else if (event.key === "Escape") this.host.onHover(null);
    else this.zoomByKey(event);
    const { along = 0, across = 0 } = MOVES[event.key] ?? {};
    const lines = this.lines.lines().filter((line) => this.drawn.get(line.id)?.length);
    if ((!along && !across) || !lines.length) return;
    event.preventDefault();
    const before = lines.findIndex((line) => line.id === marked?.line?.id);
    const line = lines[(Math.max(0, before) + (before < 0 ? 0 : across) + lines.length) % lines.length];
    const points = this.drawn.get(line.id) ?? [];
    const { axis } = this.page.view;
    const reached = (/** @type {Point} */ point) => marked && coordinate(point, axis) >= coordinate(marked, axis);
    const at = marked ? points.findIndex(reached) : points.length - 1;
    const next = (at < 0 ? points.length - 1 : at) + (marked ? along : 0);
    this.last.setAttribute("aria-live", "polite");
    /** @type {MarkedLine} */
    const found = { ...points[Math.min(points.length - 1, Math.max(0, next))], line, by: this };
    this.hover(found);
  }
}

/** @param {Line} line */
function swatch({ colour, dash }) {
  const made = element("span", { class: "run-swatch", "data-colour": String(colour), "aria-hidden": "true" });
  if (dash) made.dataset.dash = String(dash);
  return made;
}

/** @type {Record<string, { along?: number, across?: number }>} */
const MOVES = {
  ArrowLeft: { along: -1 },
  ArrowRight: { along: 1 },
  ArrowUp: { across: -1 },
  ArrowDown: { across: 1 },
};

/** @param {MarkedLine} position */
const wordsOf = ({ step, y, of }) => `${of ? `${visibleString(of)}, ` : ""}step ${number(step)}: ${number(y)}`;

/** @type {Record<Axis, (position: Position) => string>} */
const POSITION = {
  step: ({ step }) => `step ${number(step)}`,
  lineage: (position) => `step ${number(coordinate(position, "lineage"))} with ancestors`,
  tokens: ({ tokens }) => `${number(tokens)} tokens`,
  seconds: ({ seconds }) => duration(seconds),
  elapsed: ({ elapsed }) => duration(elapsed),
  time: ({ time }) => new Date(1000 * time).toLocaleString(),
};

/**
 * The point that is nearest to `x`; none beyond the ends of the line.
 * @param {Point[]} points
 * @param {number} x
 * @param {Axis} axis
 */
export function pointAlong(points, x, axis) {
  if (!points.length || x < coordinate(points[0], axis) || x > coordinate(points[points.length - 1], axis)) return null;
  let [low, high] = [0, points.length - 1];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (coordinate(points[middle], axis) <= x) low = middle;
    else high = middle;
  }
  const nearer = x - coordinate(points[low], axis) <= coordinate(points[high], axis) - x ? low : high;
  return points[nearer];
}
