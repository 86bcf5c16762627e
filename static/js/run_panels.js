// Which charts belong to which view; those of a view are made when it is first shown.

import { Chart } from "./charts.js";
import { describe } from "./glossary.js";

const AREAS = {
  collapse: ["collapse", "gradient"],
  filter: ["filter"],
  optimisation: ["policy", "value", "optim"],
  rollouts: ["rollout", "reward", "env"],
  throughput: ["time", "perf"],
};
const WHY_EMPTY = {
  collapse: "No diagnostics yet: they come every few steps, and need thoughts under several prompts.",
  value: "This run has no critic.",
};

// values that an axis shows whatever the data: where the metric begins or ends, and zero for a share
function meaningful(metric) {
  return [metric.low, metric.high, metric.unit === "share" ? 0 : null].filter((value) => value !== null && value !== undefined);
}

export class Panels {
  constructor(panels, tags, onPoint) {
    this.onPoint = onPoint;
    this.charts = { overview: panels.map((panel) => this.make(panel.title, panel.names, tags)) };
    document.getElementById("charts-overview").append(...this.charts.overview.map((chart) => chart.panel));
  }

  make(title, names, tags = []) {
    const metrics = names.map(describe);
    const first = metrics[0];
    const range = first.low !== null && first.low !== undefined && first.high !== null && first.high !== undefined ? [first.low, first.high + 0.02 * (first.high - first.low)] : undefined;
    const shown = names.filter((name) => !name.startsWith("eval/"));
    return new Chart({ title, names: shown, range, include: metrics.flatMap(meaningful), log: first.log, heldOut: names.some((name) => name.startsWith("eval/")) ? tags.slice(0, 1) : [], whyEmpty: WHY_EMPTY[first.section] }, this.onPoint);
  }

  // Charts of a view, one for each metric that has come so far.
  of(view, store) {
    if (view === "overview" || !AREAS[view]) return this.charts[view] ?? [];
    const have = new Set((this.charts[view] ?? []).map((chart) => chart.spec.names[0]));
    const missing = [...store.keys].filter((key) => AREAS[view].includes(key.split("/")[0]) && !have.has(key)).sort();
    const made = missing.map((key) => this.make(describe(key).title, [key]));
    this.charts[view] = [...(this.charts[view] ?? []), ...made];
    document.getElementById(`charts-${view}`)?.append(...made.map((chart) => chart.panel));
    return this.charts[view];
  }
}
