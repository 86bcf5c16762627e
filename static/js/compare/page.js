// The comparison: curves of several runs over one another. What is looked at stays in the address, and runs that live
// are asked for what is new.

import { ChartGrid } from "../charts/chart_grid.js";
import { prepareChartTools } from "../charts/chart_toolbar.js";
import { stepsOf } from "../charts/chart_traces.js";
import { CompareChart } from "./metric_chart.js";
import { prepareChoice, prepareLegend, showLegend, showNews } from "./legend.js";
import { ComparedRun, CurvesOfRuns } from "./compared_runs.js";
import { linesOf } from "./seed_groups.js";
import { CompareView } from "./view_state.js";
import { oneAtATime } from "../core/draw_scheduler.js";

const EVERY = 5000; // ms
const PATIENCE = 2000; // ms that the first runs wait for the last
const byId = (id) => document.getElementById(id);
const told = byId("compare-settings");

if (told) open(JSON.parse(told.textContent));
prepareChoice();

function open(settings) {
  const view = new CompareView(location.href, settings.metrics);
  const askToDraw = oneAtATime(draw);
  const runs = settings.runs.map((run) => new ComparedRun(run, news));
  const curves = new CurvesOfRuns(runs, view);
  curves.want(view.metrics);
  const host = {
    onPoint: ({ run, ...point }) => location.assign(`/runs/${run}/trajectories/?${stepsOf(point)}`),
    onHover: (place) => grid.mark(place),
    onZoom: (range) => {
      view.zoom(range);
      askToDraw();
    },
    onReset: () => {
      view.reset();
      askToDraw();
    },
    lines: () => linesOf(runs, view),
    onToggle: toggle,
    onDrop: drop,
    quantiles: settings.quantiles,
    fileStem: "compare",
  };
  const grid = new ChartGrid(byId("compare-charts"), askToDraw);
  let patience = null;

  function news() {
    if (curves.isWaiting) patience ??= setTimeout(askToDraw, PATIENCE);
    else askToDraw();
  }

  async function draw() {
    clearTimeout(patience);
    patience = null;
    const lines = host.lines();
    const evaluations = runs.reduce((sum, run) => sum + run.store.evaluations.length, 0);
    const look = `${lines.map((line) => [line.id, ...line.shown.map((run) => run.id)])}|${evaluations}`;
    const store = { curves, lines, look, evaluations: [], alerts: [], settings: [], askers: {} };
    await grid.draw({ store, view });
    showLegend(runs, view);
  }

  function toggle(id) {
    const line = host.lines().find((one) => one.id === id);
    view.hide(
      line.members.map((run) => run.id),
      line.shown.length > 0,
    );
    askToDraw();
  }

  function add(metric) {
    if (!metric || view.metrics.includes(metric)) return;
    view.look({ metrics: [...view.metrics, metric] });
    const chart = new CompareChart(metric, host);
    grid.append(chart);
    chart.panel.scrollIntoView({ block: "nearest" });
  }

  function drop(chart) {
    view.look({ metrics: view.metrics.filter((metric) => metric !== chart.name) });
    grid.watch.unobserve(chart.panel);
    grid.near.delete(chart);
    grid.charts = grid.charts.filter((one) => one !== chart);
    chart.unmount();
    chart.panel.remove();
  }

  async function follow() {
    if (document.hidden) return;
    await Promise.all(runs.map((run) => run.follow()));
    showNews(runs);
    askToDraw();
  }

  function prepareTools() {
    prepareChartTools(view, askToDraw);
    const seeds = byId("compare-seeds");
    seeds.checked = view.seeds;
    seeds.addEventListener("change", () => {
      view.look({ seeds: seeds.checked });
      askToDraw();
    });
    byId("metric-add").addEventListener("change", (event) => {
      add(event.target.value.trim());
      event.target.value = "";
    });
  }

  prepareTools();
  prepareLegend(view, runs, (id) => {
    view.hide([id], !view.hidden.includes(id));
    askToDraw();
  });
  grid.append(...view.metrics.map((metric) => new CompareChart(metric, host)));
  const turn = () => {
    view.theme += 1;
    askToDraw();
  };
  new MutationObserver(turn).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", turn);
  document.addEventListener("visibilitychange", follow);
  setInterval(follow, EVERY);
  follow();
}
