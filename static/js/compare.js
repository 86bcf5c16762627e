// The comparison's charts: the curves of several runs over one another. Everything chosen stays in the address.

import { smoothed } from "./compare_series.js";
import { label } from "./glossary.js";
import { html } from "./svg.js";
import { visibleString } from "./visible_text.js";

const byId = (id) => document.getElementById(id);
const POINTS = 1000;
const AXES = { step: ["steps", "step"], tokens: ["tokens", "tokens sampled"], time: ["seconds", "training time, s"] };
const settings = byId("compare-settings") ? JSON.parse(byId("compare-settings").textContent) : null;
const charts = byId("compare-charts");
const data = new Map(); // run id -> the answer for all metrics shown

byId("run-choice")?.addEventListener("submit", (event) => {
  event.preventDefault();
  const chosen = [...event.target.querySelectorAll("input:checked")].map((input) => input.value);
  visit(chosen);
});

function visit(ids) {
  const address = new URL(location.href);
  address.searchParams.set("runs", ids.join(","));
  location.assign(address.href.replaceAll("%2C", ","));
}

function keepInAddress() {
  const address = new URL(location.href);
  address.searchParams.set("metrics", settings.metrics.join(","));
  address.searchParams.set("x", settings.axis);
  address.searchParams.set("smoothing", String(settings.smoothing));
  history.replaceState(null, "", address.href.replaceAll("%2C", ",").replaceAll("%2F", "/"));
}

async function load() {
  const status = byId("compare-status");
  status.textContent = "Loading the curves …";
  const keys = encodeURIComponent(settings.metrics.join(","));
  const problems = await Promise.all(
    settings.runs.map(async (run) => {
      try {
        const response = await fetch(`${run.url}?keys=${keys}&points=${POINTS}`, {
          headers: { Accept: "application/json" },
        });
        if (!response.ok) return `${run.name}: status ${response.status}`;
        data.set(run.id, await response.json());
        return "";
      } catch {
        return `${run.name}: the server did not answer`;
      }
    }),
  );
  const found = problems.filter(Boolean);
  status.textContent = found.length ? `Some curves are missing. ${found.map(visibleString).join("; ")}` : "";
  draw();
}

function draw() {
  charts.replaceChildren(
    ...settings.metrics.map((metric) => {
      const plot = html("div", "compare-plot");
      const drop = html("button", "button button--small", {
        type: "button",
        textContent: "✕",
        title: `Leave out ${metric}`,
      });
      drop.addEventListener("click", () => change({ metrics: settings.metrics.filter((name) => name !== metric) }));
      const head = html("div", "compare-chart-head", {}, html("h3", "panel-title", {}, label(metric)), drop);
      const panel = html("section", "panel compare-chart", {}, head, plot);
      panel.dataset.metric = metric;
      return panel;
    }),
  );
  for (const panel of charts.children) plotMetric(panel.lastElementChild, panel.dataset.metric);
}

function plotMetric(host, metric) {
  const [column, title] = AXES[settings.axis];
  const style = getComputedStyle(document.documentElement);
  const colour = (name, fallback) => style.getPropertyValue(name).trim() || fallback;
  const traces = settings.runs.flatMap((run) =>
    traceOf(run, metric, column, colour(`--series-${run.colour}`, "#0072b2")),
  );
  if (!traces.length) {
    host.replaceChildren(
      html("p", "muted compare-nothing", { textContent: "None of these runs has reported this metric." }),
    );
    return;
  }
  const text = getComputedStyle(document.body).color;
  const grid = colour("--border", "#8884");
  const axis = { gridcolor: grid, zerolinecolor: grid, linecolor: grid, automargin: true, exponentformat: "e" };
  const bounded = /success|rate|share|ratio$|accuracy/.test(metric);
  window.Plotly.newPlot(
    host,
    traces,
    {
      height: 260,
      margin: { l: 48, r: 12, t: 8, b: 40 },
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      showlegend: false,
      hovermode: "x unified",
      font: { color: text, size: 12, family: getComputedStyle(document.body).fontFamily },
      hoverlabel: { bgcolor: colour("--surface", "#fff"), font: { color: text } },
      xaxis: { ...axis, title: { text: title } },
      yaxis: { ...axis, rangemode: bounded ? "tozero" : "normal" },
    },
    { displayModeBar: false, responsive: true },
  );
}

/** A faint raw line under the smoothed one; only one line where nothing is smoothed. */
function traceOf(run, metric, column, colour) {
  const answer = data.get(run.id);
  const values = answer?.series[metric];
  if (!values?.some((value) => value !== null)) return [];
  const points = values.map((value, index) => [answer[column][index], value]).filter(([, value]) => value !== null);
  const [x, y] = [points.map(([at]) => at), points.map(([, value]) => value)];
  const name = visibleString(run.name).replaceAll("<", "‹").replaceAll(">", "›").replaceAll("&", "＆");
  const line = {
    x,
    y: smoothed(y, settings.smoothing),
    name,
    mode: y.length > 1 ? "lines" : "markers",
    line: { color: colour, width: 2 },
    marker: { color: colour },
  };
  if (!settings.smoothing) return [line];
  return [{ x, y, mode: "lines", line: { color: colour, width: 1 }, opacity: 0.25, hoverinfo: "skip" }, line];
}

function change(values) {
  Object.assign(settings, values);
  keepInAddress();
  if (values.metrics) load();
  else draw();
}

function connect() {
  byId("compare-axis").addEventListener("change", (event) => change({ axis: event.target.value }));
  const smoothing = byId("compare-smoothing");
  const show = () => {
    byId("compare-smoothing-value").textContent = Number(smoothing.value).toFixed(2);
  };
  smoothing.addEventListener("input", show);
  smoothing.addEventListener("change", () => change({ smoothing: Number(smoothing.value) }));
  show();
  byId("metric-add").addEventListener("change", (event) => {
    const metric = event.target.value.trim();
    event.target.value = "";
    if (metric && !settings.metrics.includes(metric)) change({ metrics: [...settings.metrics, metric] });
  });
  for (const button of document.querySelectorAll("[data-remove]")) {
    button.addEventListener("click", () =>
      visit(settings.runs.map((run) => run.id).filter((id) => id !== button.dataset.remove)),
    );
  }
  new MutationObserver(draw).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  load();
}

if (settings) connect();
