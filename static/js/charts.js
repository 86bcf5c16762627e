// One chart panel: faint raw line, smoothed line over it, held-out points with intervals, alerts as marks.

import { element } from "./dom.js";
import { number } from "./format.js";
import { label } from "./glossary.js";
import { smooth } from "./run_store.js";

export class Chart {
  // spec: {title, names, range, log, heldOut: [tags]}
  constructor(spec, onPoint) {
    this.spec = spec;
    this.log = Boolean(spec.log);
    this.last = element("span", { class: "chart-last num" });
    this.plot = element("div", { class: "chart-plot" });
    this.empty = element("p", { class: "chart-empty" }, spec.whyEmpty ?? "No data yet: the first step draws it.");
    this.key = element("ul", { class: "chart-key" });
    const toggle = element(
      "button",
      {
        class: "button button--quiet button--small",
        type: "button",
        "aria-pressed": String(this.log),
        title: "Logarithmic axis",
      },
      "log",
    );
    toggle.addEventListener("click", () => {
      this.log = !this.log;
      toggle.setAttribute("aria-pressed", String(this.log));
      this.draw(this.store, this.view);
    });
    const heading = element("h3", {});
    heading.append(this.titled() ? document.createTextNode(spec.title) : label(spec.names[0]));
    this.panel = element(
      "section",
      { class: "panel chart", "data-chart": spec.names[0] },
      element("div", { class: "chart-head" }, heading, this.last, toggle),
      this.plot,
      this.key,
      this.empty,
    );
    if (this.titled())
      spec.names.forEach((name, index) => this.key.append(element("li", { class: `key-${index + 1}` }, label(name))));
    (spec.heldOut ?? []).forEach((tag) =>
      this.key.append(element("li", { class: "key-2" }, label(`eval/${tag}/success`), ", 95% interval")),
    );
    this.onPoint = onPoint;
    this.drawn = false;
  }

  // several lines: the title names what they have in common, the key each of them
  titled() {
    return this.spec.names.length > 1 || this.spec.heldOut?.length > 0;
  }

  // a colour of the theme that the chart stands in
  css(name) {
    return getComputedStyle(this.panel).getPropertyValue(name).trim();
  }

  async draw(store, view) {
    if (!store) return;
    Object.assign(this, { store, view });
    const traces = this.traces(store, view);
    this.empty.hidden = traces.some((trace) => trace.x.length > 0);
    this.plot.style.visibility = this.empty.hidden ? "visible" : "hidden";
    await globalThis.Plotly.react(this.plot, traces, this.layout(store, view), {
      responsive: true,
      displaylogo: false,
      showSendToCloud: false,
      plotlyServerURL: "",
      modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"],
    });
    if (!this.drawn) {
      this.drawn = true;
      this.plot.on("plotly_click", (event) => {
        const step = event.points[0]?.customdata;
        if (step !== undefined) this.onPoint(step);
      });
    }
  }

  traces(store, view) {
    const made = [];
    this.spec.names.forEach((name, index) => {
      const points = store.series(name, view.axis);
      if (name.startsWith("eval/")) return;
      const colour = this.css(`--series-${index + 1}`);
      const x = points.map((point) => point.x);
      const y = points.map((point) => point.y);
      const steps = points.map((point) => point.step);
      const sparse = points.length < 2 || points.length < store.steps.length / 2;
      const smoothed = smooth(y, sparse ? 0 : view.smoothing);
      if (!sparse && view.smoothing)
        made.push({
          x,
          y,
          customdata: steps,
          mode: "lines",
          line: { color: colour, width: 1 },
          opacity: 0.28,
          hoverinfo: "skip",
          showlegend: false,
        });
      made.push({
        x,
        y: smoothed,
        customdata: steps,
        text: y.map((value) => number(value)),
        mode: sparse ? "lines+markers" : "lines",
        line: { color: colour, width: 1.75 },
        marker: { size: 5, color: colour },
        name: "",
        hovertemplate: "step %{customdata}: %{text}<extra></extra>",
        showlegend: false,
      });
      if (index === 0) this.last.textContent = points.length ? number(y.at(-1)) : "";
    });
    for (const tag of this.spec.heldOut ?? []) made.push(this.heldOut(store.heldOut(tag, view.axis)));
    return made;
  }

  heldOut(points) {
    const colour = this.css("--series-2");
    return {
      x: points.map((point) => point.x),
      y: points.map((point) => point.y),
      customdata: points.map((point) => point.step),
      text: points.map((point) => `${number(point.y)} [${number(point.low)}, ${number(point.high)}]`),
      error_y: {
        type: "data",
        symmetric: false,
        array: points.map((point) => point.high - point.y),
        arrayminus: points.map((point) => point.y - point.low),
        color: colour,
        thickness: 1.2,
        width: 3,
      },
      mode: "markers",
      cliponaxis: false, // the first lies on the axis
      marker: { color: colour, size: 6 },
      hovertemplate: "held-out at step %{customdata}: %{text}<extra></extra>",
      showlegend: false,
    };
  }

  layout(store, view) {
    const muted = this.css("--text-muted");
    const axis = {
      gridcolor: this.css("--grid-line"),
      zeroline: false,
      linecolor: this.css("--border"),
      tickfont: { size: 11, color: muted },
      automargin: true,
    };
    const range = this.log
      ? { tickformat: "~g" }
      : this.spec.range
        ? { range: this.spec.range }
        : {
            rangemode: this.spec.fromZero ? "tozero" : "normal",
            autorangeoptions: { include: this.spec.include ?? [] },
          };
    return {
      margin: { l: 44, r: 8, t: 6, b: 28 },
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: this.css("--font-text"), size: 11, color: muted },
      hovermode: "closest",
      hoverlabel: {
        bgcolor: this.css("--surface"),
        bordercolor: this.css("--border"),
        font: { color: this.css("--text"), size: 12 },
      },
      uirevision: `${view.axis}-${view.revision}`,
      dragmode: "zoom",
      xaxis: { ...axis, title: undefined, rangemode: "nonnegative" },
      yaxis: { ...axis, type: this.log ? "log" : "linear", exponentformat: "e", ...range },
      shapes: alertMarks(store, view, (name) => this.css(name)),
    };
  }
}

function alertMarks(store, view, css) {
  const places = new Map(
    store.steps.map((one) => [one.step, view.axis === "time" ? new Date(1000 * one.time) : one[view.axis]]),
  );
  return store.alerts
    .filter((alert) => places.has(alert.step))
    .map((alert) => ({
      type: "line",
      xref: "x",
      yref: "paper",
      x0: places.get(alert.step),
      x1: places.get(alert.step),
      y0: 0,
      y1: 1,
      line: {
        color: css(alert.severity === "watch" || alert.severity === "warn" ? "--watch" : "--bad"),
        width: 1,
        dash: "dot",
      },
    }));
}
