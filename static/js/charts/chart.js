// One chart panel. It draws only when what it shows has changed, and never moves what the reader set.

import { alertOf } from "./alert_marks.js";
import { notesOf, unitOf, whyEmpty } from "./chart_notes.js";
import { ChartKey, colour } from "./chart_key.js";
import { chartMenu } from "./chart_menu.js";
import { layoutOf, OPTIONS } from "./chart_layout.js";
import { tracesOf, describePoint, stepsText } from "./chart_traces.js";
import { heldOutSignature, heldOutTraces } from "./held_out_traces.js";
import { withGaps } from "./log_axis.js";
import { windowByKey } from "./step_window.js";
import { coordinate, nearestOf } from "./positions.js";
import { element } from "../core/dom.js";
import { number } from "../core/format.js";
import { describe, label } from "../core/glossary.js";
import { withModifier } from "../core/keys.js";
import { settingsSignature } from "./setting_marks.js";
import { withoutOutliers } from "./smoothing.js";
import { visibleString } from "../core/visible_text.js";

/** @import { AxisCut, ChartHost, ChartPage, ChartSpec, Plot, Point, Position, Trace } from "../types.js" */
/** @typedef {Position & { y?: number, of?: string }} Marked what the crosshair is at */

const LOG_HELP = "Logarithmic axis. Values ≤ 0 are left out and counted.";
const SMALL = 500; // pixels of width
const DOUBLE_CLICK = 300; // milliseconds in which a second click means the window, not the point

/** @type {Record<string, number>} */
const ALONG = { ArrowLeft: -1, ArrowRight: 1 };

/** @template {ChartPage} [P=ChartPage] */
export class Chart {
  mounted = false;
  small = false;
  /** @type {string | null} a signature of what is drawn */
  shown = null;
  /** @type {number | undefined} */
  width = undefined;
  /** @type {P | undefined} */
  page = undefined;
  /** @type {Marked | null} */
  marked = null;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  opening = undefined;
  /** @type {Element | null} the curve as the server drew it, until this chart has drawn its own */
  preview = null;

  /**
   * @param {ChartSpec} spec
   * @param {ChartHost} host
   */
  constructor(spec, host) {
    this.spec = spec;
    this.host = host;
    this.valuesAddress = host.valuesAddress;
    this.id = spec.names.join("+");
    this.title = spec.title ?? describe(spec.names[0]).title;
    this.last = element("span", { class: "chart-last num", "aria-live": "off" });
    const frame = { class: "chart-plot", tabindex: "0", role: "group", "aria-label": this.title };
    this.plot = /** @type {Plot} */ (/** @type {unknown} */ (element("div", frame)));
    this.line = element("div", { class: "chart-crosshair", hidden: true });
    this.empty = element("p", { class: "chart-empty" }, "Loading …");
    this.note = element("p", { class: "chart-note", hidden: true });
    this.values = new ChartKey(spec, this.isTitled);
    this.key = this.values.root;
    this.logSwitch = this.makeLogSwitch();
    const unit = element("span", { class: "chart-unit" }, unitOf(spec.names.map(describe), this.title));
    const head = [this.heading(), unit, this.last, this.logSwitch, chartMenu(this)];
    this.head = element("div", { class: "chart-head" }, ...head);
    /** @type {HTMLElement} */
    this.panel = element(
      "section",
      { class: "panel chart", "data-chart": spec.names[0] },
      this.head,
      element("div", { class: "chart-frame" }, this.plot, this.line),
      this.note,
      this.key,
      this.empty,
    );
    this.listen();
  }

  /** @param {Element} panel in whose place this chart's comes */
  takePreview(panel) {
    this.preview = panel.querySelector(".chart-preview");
    if (this.preview) this.plot.after(this.preview);
    this.empty.hidden = this.preview !== null;
  }

  /** Mouse and keys, from the start: a reader may be quicker than the first drawing. */
  listen() {
    this.plot.addEventListener("mousemove", (event) => this.point(event));
    this.plot.addEventListener("mouseleave", () => this.host.onHover(null));
    this.plot.addEventListener("keydown", (event) => this.byKey(event));
    // The browser counts clicks by when they were made; Plotly by when it received them, which may be late.
    this.plot.addEventListener("mousedown", (event) => this.pressed(event), { capture: true });
    this.plot.addEventListener("blur", () => this.host.onHover(null));
  }

  /** @param {MouseEvent} event */
  pressed({ detail, target }) {
    if (detail !== 2 || !(target instanceof Element) || !target.closest(".draglayer")) return;
    addEventListener("mouseup", () => this.reset(), { once: true });
  }

  reset() {
    clearTimeout(this.opening);
    this.host.onReset();
  }

  heading() {
    return element("h3", {}, this.isTitled ? this.title : label(this.spec.names[0]));
  }

  makeLogSwitch() {
    const attributes = { class: "button button--quiet button--small", type: "button", title: LOG_HELP };
    const made = element("button", { ...attributes, "aria-pressed": String(Boolean(this.spec.log)) }, "log");
    made.addEventListener("click", () => {
      this.page?.view.turnLog(this.id, !this.log, this.spec.log);
      this.draw(this.page);
    });
    return made;
  }

  /** As the reader has set it, or else as its metrics are. */
  get log() {
    return this.page?.view.scales.get(this.id) ?? Boolean(this.spec.log);
  }

  /** Of several lines the title names what they have in common, and the key each of them. */
  get isTitled() {
    return this.spec.names.length > 1 || Boolean(this.spec.heldOut?.length);
  }

  /**
   * @param {string} name of a colour of the theme that the chart is in
   * @returns {string}
   */
  css(name) {
    return getComputedStyle(this.panel).getPropertyValue(name).trim();
  }

  /** @param {string} ending */
  fileName(ending) {
    return `${this.host.fileStem}-${this.spec.names
      .join("-")
      .replace(/[^\w]+/g, "-")
      .slice(0, 80)}.${ending}`;
  }

  /** Over the full width of the page, or not; whether it is now. */
  enlarge() {
    const wide = this.panel.classList.toggle("chart--wide");
    globalThis.Plotly.Plots.resize(this.plot);
    return wide;
  }

  /** @param {P | undefined} page */
  async draw(page) {
    if (!page) return;
    this.page = page;
    if (this.width === undefined) this.measure();
    this.fit();
    const signature = this.signature(page);
    if (signature === this.shown) return;
    this.shown = signature;
    this.logSwitch.setAttribute("aria-pressed", String(this.log));
    const { store, view } = page;
    const made = this.traces(page);
    const { traces, left } = this.log ? withGaps(made) : { traces: made, left: 0 };
    const free = view.outliers && !this.spec.range;
    const cut = free ? withoutOutliers(traces.flatMap((trace) => trace.y)) : null;
    this.showNotes(page, traces, { cut, left });
    const css = (/** @type {string} */ name) => this.css(name);
    const layout = layoutOf({ spec: this.spec, log: this.log, cut, store, view, css, small: this.small });
    await globalThis.Plotly.react(this.plot, traces, layout, OPTIONS);
    if (!this.mounted) this.mount();
  }

  /**
   * What is drawn, as Plotly takes it.
   * @param {P} page
   * @returns {Trace[]}
   */
  traces({ store, view }) {
    const [{ curves }, { names }] = [store, this.spec];
    const colours = names.map((_, index) => this.css(`--series-${colour(index)}`));
    const lines = { names, colours, view, log: this.log };
    const traces = [...(store.lineage?.traces(lines) ?? []), ...tracesOf({ ...lines, curves })];
    const look = { view, colour: this.css("--series-2") };
    for (const tag of this.spec.heldOut ?? []) traces.push(...heldOutTraces(store, tag, look));
    // the key has the values: a box beside the mouse would lie on the lines
    return traces.map((trace) => (trace.hoverinfo ? trace : { ...trace, hoverinfo: "none", hovertemplate: undefined }));
  }

  /** A grid measures all its charts before it draws one: measuring after a drawing lays the whole page out again. */
  measure() {
    this.width = this.plot.clientWidth;
    this.small = this.panel.clientWidth < SMALL;
  }

  /** The browser's window may have changed while the chart was out of sight. */
  fit() {
    const { mounted, width, plot } = this;
    if (mounted && width && width !== plot._fullLayout?.width) globalThis.Plotly.Plots.resize(plot);
  }

  /** @param {P} page */
  signature({ store, view }) {
    const look = [view.axis, view.smoothing, view.outliers, view.revision, view.zooms, view.theme, this.log];
    const heldOut = this.spec.heldOut?.length ? heldOutSignature(store) : 0;
    const marks = [store.alerts.length, settingsSignature(store), heldOut];
    const revisions = [store.curves, store.lineage].map((curves) => curves?.revisionOf(this.spec.names));
    return [...look, ...marks, ...revisions].join("|");
  }

  /**
   * @param {P} page
   * @param {Trace[]} traces
   * @param {{ cut: AxisCut | null, left: number }} missing what is outside the axis, or has no place on it
   */
  showNotes({ store }, traces, { cut, left }) {
    const { curves } = store;
    const loaded = this.spec.names.every((name) => curves.isLoaded(name));
    this.values.offer(curves, loaded);
    const drawn = traces.some(({ y }) => y.some((value) => !Number.isNaN(value)));
    if (drawn || loaded) this.dropPreview();
    this.empty.hidden = drawn || this.preview !== null;
    this.empty.textContent = loaded ? whyEmpty(this.spec, left) : "Loading …";
    this.plot.style.visibility = drawn ? "visible" : "hidden";
    this.note.textContent = notesOf({ cut, left: drawn ? left : 0 });
    this.note.hidden = !this.note.textContent;
    if (!this.marked) this.showNewest(store);
  }

  dropPreview() {
    this.preview?.remove();
    this.preview = null;
  }

  /** @param {P["store"]} store */
  showNewest(store) {
    const newest = (/** @type {string} */ name) => store.curves.points(name).at(-1);
    this.values.show(store, null, newest);
    const point = this.isTitled ? undefined : newest(this.spec.names[0]);
    this.last.textContent = point ? number(point.y) : "";
  }

  mount() {
    this.mounted = true;
    this.plot.on?.("plotly_click", ({ points, event }) => {
      const chosen = points[0]?.customdata;
      clearTimeout(this.opening);
      if (chosen === undefined || (event?.detail ?? 0) > 1) return;
      this.opening = setTimeout(() => this.host.onPoint(this.pointAt(chosen)), DOUBLE_CLICK);
    });
    this.plot.on?.("plotly_relayout", (change) => {
      const [from, to] = [change["xaxis.range[0]"], change["xaxis.range[1]"]];
      if (from !== undefined && to !== undefined) this.host.onZoom([from, to]);
      else if (change["xaxis.autorange"]) this.host.onReset();
      else if (change["yaxis.range[0]"] !== undefined) this.host.onStretch?.();
    });
    this.plot.on?.("plotly_doubleclick", () => this.reset());
    this.plot.on?.("plotly_clickannotation", ({ annotation }) => {
      const seq = alertOf(annotation);
      if (seq !== null) this.host.onAlert(seq);
    });
  }

  /**
   * The point at a step, of a range of steps with the extremes there; of held-out points only the step.
   * @param {number | { run: string, step: number }} chosen
   */
  pointAt(chosen) {
    const step = typeof chosen === "number" ? chosen : chosen.step;
    const points = this.spec.names.flatMap((name) => this.page?.store.curves.points(name) ?? []);
    return points.find((point) => point.step === step) ?? { step };
  }

  unmount() {
    if (!this.mounted) return;
    globalThis.Plotly.purge(this.plot);
    this.mounted = false;
    this.shown = null;
  }

  /**
   * Moves the crosshair of all charts to the point that is nearest to the mouse.
   * @param {MouseEvent} event
   */
  point(event) {
    const axis = this.plot._fullLayout?.xaxis;
    if (!axis) return;
    const inside = event.clientX - this.plot.getBoundingClientRect().left - axis._offset;
    if (inside < 0 || inside > axis._length) {
      this.host.onHover(null);
      return;
    }
    const near = this.nearest((position) => Math.abs(axis.d2p(this.drawnAt(position)) - inside));
    if (near) this.host.onHover(near);
  }

  /**
   * ← and → go from point to point, Enter opens the step, Escape clears the mark; + and - zoom, 0 resets.
   * @param {KeyboardEvent} event
   */
  byKey(event) {
    if (!this.page || withModifier(event)) return;
    const points = this.page.store.curves.points(this.spec.names[0]);
    const move = ALONG[event.key];
    if (move && points.length) {
      const marked = this.marked?.step ?? null;
      const from = marked === null ? -1 : points.findIndex((point) => point.step >= marked);
      const next = from < 0 ? points.length - 1 : Math.min(points.length - 1, Math.max(0, from + move));
      this.last.setAttribute("aria-live", "polite");
      this.hover(points[next]);
      event.preventDefault();
    } else if (event.key === "Enter" && this.marked && !this.marked.of) this.host.onPoint(this.marked);
    else if (event.key === "Escape") this.host.onHover(null);
    else this.zoomByKey(event);
  }

  /**
   * Marks a position by key, at once: the next key may come before the next frame.
   * @param {Marked} position
   */
  hover(position) {
    this.marked = position;
    this.host.onHover(position);
  }

  /** @param {KeyboardEvent} event */
  zoomByKey(event) {
    if (!this.page) return;
    const window = windowByKey(event.key, this.page, this.marked);
    if (window === undefined) return;
    event.preventDefault();
    if (window) this.host.onZoom(window);
    else this.host.onReset();
  }

  /**
   * @param {(position: Position) => number} distance
   * @param {string} [name] of a metric of the chart
   * @returns {Point | null}
   */
  nearest(distance, name = this.spec.names[0]) {
    if (!this.page) return null;
    const { store, view } = this.page;
    return nearestOf([...(store.lineage?.points(name, view.axis) ?? []), ...store.curves.points(name)], distance);
  }

  /** @param {Position} position */
  drawnAt(position) {
    const axis = this.page?.view.axis ?? "step";
    const x = coordinate(position, axis);
    return axis === "time" ? new Date(x) : x;
  }

  /**
   * Puts the crosshair at a position of the run and shows this chart's values there; null clears it.
   * @param {Marked | null} position
   */
  mark(position) {
    this.marked = position;
    const axis = this.plot._fullLayout?.xaxis;
    if (!position || !axis || !this.mounted || !this.page) {
      this.line.hidden = true;
      if (this.page) this.showNewest(this.page.store);
      return;
    }
    const x = axis.d2p(this.drawnAt(position));
    this.line.hidden = x < 0 || x > axis._length;
    this.line.style.transform = `translateX(${Math.round(axis._offset + x)}px)`;
    this.readAt(position, this.page.store);
  }

  /**
   * @param {Marked} position
   * @param {P["store"]} store
   */
  readAt(position, store) {
    const far = (/** @type {Position} */ point) =>
      Math.abs(coordinate(point, "lineage") - coordinate(position, "lineage"));
    const here = this.nearest(far);
    const sentence = this.values.show(store, position, (name) => this.nearest(far, name));
    if (!here) return;
    const of = here.of ? `${visibleString(here.of)}, ` : "";
    if (!this.isTitled) this.last.textContent = `${of}${describePoint(here)}`;
    else {
      this.last.replaceChildren(
        `${of}${stepsText(here)}`,
        element("span", { class: "visually-hidden" }, `: ${sentence}`),
      );
    }
  }
}
