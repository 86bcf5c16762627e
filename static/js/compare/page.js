// The comparison: curves of several runs, overlaid. The view is kept in the address, and live runs are polled.

import { ChartGrid } from "../charts/chart_grid.js";
import { prepareChartTools } from "../charts/chart_toolbar.js";
import { stepsOf } from "../charts/chart_traces.js";
import { CompareChart } from "./metric_chart.js";
import {
  prepareChoice,
  preparePair,
  prepareLegend,
  prepareQuery,
  prepareReport,
  showLegend,
  showUpdates,
} from "./legend.js";
import { prepareEffects } from "./effects_panel.js";
import { prepareRegimeMaps } from "./regime_maps.js";
import { ComparedRun, CurvesOfRuns } from "./compared_runs.js";
import { GroupCurves } from "./group_curves.js";
import { areGrouped, linesOf } from "./lines.js";
import { CompareView } from "./view_state.js";
import { byId, jsonOf } from "../core/dom.js";
import { oneAtATime } from "../core/draw_scheduler.js";

/** @import { Point } from "../types.js" */
/** @import { CompareHost } from "./metric_chart.js" */
/** @import { RunFacts } from "./compared_runs.js" */
/** @import { Group, Line } from "./lines.js" */

const EVERY = 5000; // ms
const PATIENCE = 2000; // ms that the first runs wait for the last

if (document.getElementById("compare-settings")) open(jsonOf("compare-settings"));
prepareChoice();
preparePair();
prepareQuery();
prepareReport();
prepareEffects();
prepareRegimeMaps();

/** @typedef {{ runs: RunFacts[], metrics: string[], groups: Group[], group: string, band: string }} CompareSettings */

/**
 * @param {Pick<Point, "step"> & Partial<Point>} point
 * @returns {point is Pick<Point, "step"> & Partial<Point> & { run: string }}
 */
const isOfRun = (point) => "run" in point;

/**
 * Where the shown runs were forked, each once.
 * @param {Line[]} lines
 */
function forksOf(lines) {
  const all = lines.flatMap(({ shown }) => shown.flatMap((run) => run.lineage.forks));
  return [...new Map(all.map((fork) => [`${fork.name} ${fork.at}`, fork])).values()];
}

/** @param {CompareSettings} settings */
function open(settings) {
  const view = new CompareView(location.href, settings.metrics);
  const { request: requestDraw } = oneAtATime(draw);
  const runs = settings.runs.map((run) => new ComparedRun(run, update));
  view.band = settings.group ? settings.band : ""; // as the server understood the address
  const allLines = () => linesOf(runs, settings.groups, view);
  const groups = new GroupCurves(view, update);
  const alone = () => allLines().flatMap((line) => (line.isMean ? [] : line.shown));
  const curves = new CurvesOfRuns(runs, alone, groups);
  groups.show(allLines());
  curves.want(view.metrics);
  /** @type {CompareHost} */
  const host = {
    onPoint: (point) => {
      if (isOfRun(point)) host.onRunPoint(point);
    },
    onRunPoint: ({ run, ...point }) => location.assign(`/runs/${run}/trajectories/?${stepsOf(point)}`),
    onAlert() {}, // no alerts are drawn here
    valuesAddress: "", // each run has its own
    onHover: (position) => grid.mark(position),
    onZoom: (range) => {
      view.zoom(range);
      requestDraw();
    },
    onStretch: () => {
      view.stretched = true;
      showTools();
    },
    onReset: () => {
      view.reset();
      requestDraw();
    },
    lines: allLines,
    onToggle: toggle,
    onDrop: drop,
    groups,
    fileStem: "compare",
  };
  const grid = new ChartGrid(byId("compare-charts"), requestDraw);
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let patience;
  let showTools = () => {};

  function update() {
    if (curves.isWaiting) patience ??= setTimeout(requestDraw, PATIENCE);
    else requestDraw();
  }

  async function draw() {
    clearTimeout(patience);
    patience = undefined;
    const lines = host.lines();
    groups.show(lines);
    const evaluations = runs.reduce((sum, run) => sum + run.store.evaluations.length, 0);
    const look = `${lines.map((line) => [line.id, ...line.shown.map((run) => run.id)])}|${evaluations}`;
    const forks = forksOf(lines);
    const none = { evaluations: [], requestedEvaluations: [], alerts: [], settings: [], requestedBy: {} };
    const store = { curves, lines, look, forks, ...none };
    await grid.draw({ store, view });
    showLegend(runs, view, settings.groups.length > 0 && areGrouped(view));
    showTools();
  }

  /** @param {string} id */
  function toggle(id) {
    const line = host.lines().find((one) => one.id === id);
    if (!line) return;
    view.hide(
      line.members.map((run) => run.id),
      line.shown.length > 0,
    );
    requestDraw();
  }

  /** @param {string} metric */
  function add(metric) {
    if (!metric || view.metrics.includes(metric)) return;
    view.setMetrics([...view.metrics, metric]);
    const chart = new CompareChart(metric, host);
    grid.append(chart);
    chart.panel.scrollIntoView({ block: "nearest" });
  }

  /** @param {CompareChart} chart */
  function drop(chart) {
    view.setMetrics(view.metrics.filter((metric) => metric !== chart.name));
    grid.remove(chart);
  }

  async function follow() {
    if (document.hidden) return;
    await Promise.all(runs.map((run) => run.follow()));
    showUpdates(runs);
    requestDraw();
  }

  function prepareTools() {
    showTools = prepareChartTools(view, requestDraw);
    const band = byId("compare-band", HTMLSelectElement);
    band.value = view.band || settings.band;
    band.addEventListener("change", () => {
      view.setBand(band.value);
      requestDraw();
    });
    const input = byId("metric-add", HTMLInputElement);
    input.addEventListener("change", () => {
      add(input.value.trim());
      input.value = "";
    });
  }

  prepareTools();
  prepareLegend(view, runs, (id) => {
    view.hide([id], !view.hidden.includes(id));
    requestDraw();
  });
  grid.append(...view.metrics.map((metric) => new CompareChart(metric, host)));
  const themeChanged = () => {
    view.theme += 1;
    requestDraw();
  };
  new MutationObserver(themeChanged).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", themeChanged);
  document.addEventListener("visibilitychange", follow);
  setInterval(follow, EVERY);
  follow();
}
