// One chart panel. It draws only when what it shows has changed, and never moves what the reader set.

import { alertOf } from "./alert_marks.js";
import { chartMenu } from "./chart_menu.js";
import { layoutOf } from "./chart_layout.js";
import { heldOutTrace, tracesOf, words } from "./chart_traces.js";
import { windowByKey } from "./step_window.js";
import { coordinate } from "./curves.js";
import { element } from "../core/dom.js";
import { number } from "../core/format.js";
import { describe, label } from "../core/glossary.js";
import { settingsSeen } from "./setting_marks.js";
import { withoutOutliers } from "./smoothing.js";

const COLOURS = 8;
const DOUBLE_CLICK = 300; // milliseconds in which a second click means the window, not the point
const OPTIONS = {
  responsive: true,
  displaylogo: false,
  showSendToCloud: false,
  plotlyServerURL: "",
  showTips: false,
  doubleClick: false, // ours: it resets the window of all charts
  modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d", "resetScale2d", "toImage"],
};

export class Chart {
  // spec: {title, names, range, fromZero, include, log, heldOut: [tags], whyEmpty}
  // host: {onPoint(point), onZoom(window), onReset(), onHover(x or null), onAlert(seq), valuesAddress, fileStem}
  constructor(spec, host) {
    this.spec = spec;
    this.host = host;
    this.id = spec.names.join("+");
    this.title = spec.title ?? describe(spec.names[0]).title;
    this.last = element("span", { class: "chart-last num", "aria-live": "off" });
    this.plot = element("div", { class: "chart-plot", tabindex: "0", role: "group", "aria-label": this.title });
    this.line = element("div", { class: "chart-crosshair", hidden: true });
    this.empty = element("p", { class: "chart-empty" }, "Loading …");
    this.note = element("p", { class: "chart-note", hidden: true });
    this.key = element("ul", { class: "chart-key" });
    const heading = element("h3", {});
    heading.append(this.titled() ? document.createTextNode(this.title) : label(spec.names[0]));
    this.panel = element(
      "section",
      { class: "panel chart", "data-chart": spec.names[0] },
      element("div", { class: "chart-head" }, heading, this.last, this.logSwitch(), chartMenu(this)),
      element("div", { class: "chart-frame" }, this.plot, this.line),
      this.note,
      this.key,
      this.empty,
    );
    const sample = (name, i) => element("li", { class: `key-${colour(i)}` }, label(name));
    this.keys = this.titled() ? spec.names.map(sample) : [];
    this.key.append(...this.keys);
    (spec.heldOut ?? []).forEach((tag) =>
      this.key.append(element("li", { class: "key-2" }, label(`eval/${tag}/success`), ", 95% interval")),
    );
    this.shown = null; // a signature of what is drawn
    this.listen();
  }

  // Mouse and keys, from the start: a reader may be quicker than the first drawing.
  listen() {
    this.plot.addEventListener("mousemove", (event) => this.point(event));
    this.plot.addEventListener("mouseleave", () => this.host.onHover(null));
    this.plot.addEventListener("keydown", (event) => this.byKey(event));
    // The browser counts clicks by when they were made; Plotly by when it heard of them, which may be late.
    this.plot.addEventListener("mousedown", (event) => this.twice(event), { capture: true });
    this.plot.addEventListener("blur", () => this.host.onHover(null));
  }

  twice({ detail, target }) {
    if (detail !== 2 || !target.closest(".draglayer")) return;
    const reset = () => {
      clearTimeout(this.opening);
      this.host.onReset();
    };
    addEventListener("mouseup", reset, { once: true });
  }

  get valuesAddress() {
    return this.host.valuesAddress;
  }

  logSwitch() {
    const attributes = { class: "button button--quiet button--small", type: "button", title: "Logarithmic axis" };
    this.switch = element("button", { ...attributes, "aria-pressed": String(Boolean(this.spec.log)) }, "log");
    this.switch.addEventListener("click", () => {
      this.page?.view.turnLog(this.id, !this.log, this.spec.log);
      this.draw(this.page);
    });
    return this.switch;
  }

  // as the reader has turned it, or else as its metrics are
  get log() {
    return this.page?.view.scales.get(this.id) ?? Boolean(this.spec.log);
  }

  // several lines: the title names what they have in common, the key each of them
  titled() {
    return this.spec.names.length > 1 || this.spec.heldOut?.length > 0;
  }

  // a colour of the theme that the chart stands in
  css(name) {
    return getComputedStyle(this.panel).getPropertyValue(name).trim();
  }

  fileName(ending) {
    return `${this.host.fileStem}-${this.spec.names.join("-").replace(/[^\w]+/g, "-").slice(0, 80)}.${ending}`;
  }

  // Over the full width of the page, or not; whether it is now.
  enlarge() {
    const wide = this.panel.classList.toggle("chart--wide");
    globalThis.Plotly.Plots.resize(this.plot);
    return wide;
  }

  // page: {store, view}
  async draw(page) {
    if (!page) return;
    this.page = page;
    if (this.width === undefined) this.measure();
    this.fit();
    const signature = this.signature(page);
    if (signature === this.shown) return;
    this.shown = signature;
    this.switch.setAttribute("aria-pressed", String(this.log));
    const { store, view } = page;
    const traces = this.traces(page);
    const free = view.outliers && !this.spec.range;
    const cut = free ? withoutOutliers(traces.flatMap((trace) => trace.y)) : null;
    this.tell(traces, cut, store.curves);
    const css = (name) => this.css(name);
    const layout = layoutOf({ spec: this.spec, log: this.log, cut, store, view, css, small: this.small });
    await globalThis.Plotly.react(this.plot, traces, layout, OPTIONS);
    if (!this.mounted) this.mount();
  }

  // what is drawn, as Plotly takes it
  traces({ store, view }) {
    const { curves } = store;
    const colours = this.spec.names.map((_, index) => this.css(`--series-${colour(index)}`));
    const traces = tracesOf({ names: this.spec.names, colours, curves, view });
    for (const tag of this.spec.heldOut ?? []) {
      const evaluations = store.evaluations.filter((one) => one.environment === tag);
      traces.push(heldOutTrace(evaluations, { curves, view, colour: this.css("--series-2") }));
    }
    return traces;
  }

  // A grid measures all its charts before it draws one: after a drawing to measure lays the whole page out again.
  measure() {
    this.width = this.plot.clientWidth;
    this.small = this.panel.clientWidth < 500;
  }

  // The window may have changed while the chart was out of sight.
  fit() {
    const { mounted, width, plot } = this;
    if (mounted && width && width !== plot._fullLayout.width) globalThis.Plotly.Plots.resize(plot);
  }

  signature({ store, view }) {
    const look = [view.axis, view.smoothing, view.outliers, view.revision, view.zooms, view.theme, this.log];
    const marks = [store.alerts.length, settingsSeen(store), this.spec.heldOut?.length ? store.evaluations.length : 0];
    return [...look, ...marks, store.curves.revisionOf(this.spec.names)].join("|");
  }

  tell(traces, cut, curves) {
    const loaded = this.spec.names.every((name) => curves.isLoaded(name));
    this.keys.forEach((one, i) => (one.hidden = loaded && !curves.points(this.spec.names[i]).length));
    this.empty.hidden = traces.some((trace) => trace.x.length > 0);
    this.empty.textContent = loaded ? (this.spec.whyEmpty ?? "No data yet: the first step draws it.") : "Loading …";
    this.plot.style.visibility = this.empty.hidden ? "visible" : "hidden";
    this.note.hidden = !cut;
    if (cut) this.note.textContent = `${cut.outside} values lie outside, as far as ${number(cut.reach)}`;
    this.showNewest();
  }

  showNewest() {
    const newest = this.page.store.curves.points(this.spec.names[0]).at(-1);
    this.last.textContent = newest ? number(newest.y) : "";
  }

  mount() {
    this.mounted = true;
    this.plot.on("plotly_click", (event) => {
      const step = event.points[0]?.customdata;
      clearTimeout(this.opening);
      if (step === undefined || event.event?.detail > 1) return;
      this.opening = setTimeout(() => this.host.onPoint(this.pointAt(step)), DOUBLE_CLICK);
    });
    this.plot.on("plotly_relayout", (change) => {
      if (change["xaxis.range[0]"] !== undefined)
        this.host.onZoom([change["xaxis.range[0]"], change["xaxis.range[1]"]]);
      else if (change["xaxis.autorange"]) this.host.onReset();
    });
    this.plot.on("plotly_doubleclick", () => {
      clearTimeout(this.opening);
      this.host.onReset();
    });
    this.plot.on("plotly_clickannotation", ({ annotation }) => {
      const seq = alertOf(annotation);
      if (seq !== null) this.host.onAlert(seq);
    });
  }

  // The point that stands at `step`, of a stretch of steps with the extremes there; of held-out points only the step.
  pointAt(step) {
    const found = this.spec.names.flatMap((name) => this.page.store.curves.points(name));
    return found.find((point) => point.step === step) ?? { step };
  }

  unmount() {
    if (!this.mounted) return;
    globalThis.Plotly.purge(this.plot);
    Object.assign(this, { mounted: false, shown: null });
  }

  // the crosshair of all charts, at the point that is nearest to the mouse
  point(event) {
    const axis = this.plot._fullLayout?.xaxis;
    if (!axis) return;
    const inside = event.clientX - this.plot.getBoundingClientRect().left - axis._offset;
    if (inside < 0 || inside > axis._length) return this.host.onHover(null);
    const near = this.nearest((place) => Math.abs(axis.d2p(this.drawnAt(place)) - inside));
    if (near) this.host.onHover(near);
  }

  // ← and → go from point to point, Enter opens the step, Escape lets go; + and - look closer and wider, 0 at the whole
  byKey(event) {
    if (!this.page || event.ctrlKey || event.metaKey || event.altKey) return;
    const points = this.page.store.curves.points(this.spec.names[0]);
    const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (move && points.length) {
      const from = this.marked ? points.findIndex((point) => point.step >= this.marked.step) : -1;
      const next = from < 0 ? points.length - 1 : Math.min(points.length - 1, Math.max(0, from + move));
      this.last.setAttribute("aria-live", "polite");
      this.marked = points[next]; // the next key may come before the next frame
      this.host.onHover(this.marked);
      event.preventDefault();
    } else if (event.key === "Enter" && this.marked) this.host.onPoint(this.marked);
    else if (event.key === "Escape") this.host.onHover(null);
    else this.zoomByKey(event);
  }

  zoomByKey(event) {
    const window = windowByKey(event.key, this.page, this.marked);
    if (window === undefined) return;
    event.preventDefault();
    if (window) this.host.onZoom(window);
    else this.host.onReset();
  }

  nearest(distance) {
    const points = this.page.store.curves.points(this.spec.names[0]);
    let best = null;
    for (const point of points) {
      const far = distance(point);
      if (best === null || far < best.far) best = { far, point };
    }
    return best?.point ?? null;
  }

  drawnAt(place) {
    const x = coordinate(place, this.page.view.axis);
    return this.page.view.axis === "time" ? new Date(x) : x;
  }

  // The crosshair at a place of the run, and what this chart says there; null takes it away.
  mark(place) {
    this.marked = place;
    const axis = this.plot._fullLayout?.xaxis;
    if (!place || !axis || !this.mounted) {
      this.line.hidden = true;
      if (this.page) this.showNewest();
      return;
    }
    const x = axis.d2p(this.drawnAt(place));
    this.line.hidden = x < 0 || x > axis._length;
    this.line.style.transform = `translateX(${Math.round(axis._offset + x)}px)`;
    const here = this.nearest((point) => Math.abs(point.step - place.step));
    if (here) this.last.textContent = words(here);
  }
}

const colour = (index) => (index % COLOURS) + 1;
