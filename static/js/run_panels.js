// Which charts belong to which view; those of a view are made when it is first shown.

import { Chart } from "./charts.js";
import { describe } from "./glossary.js";

const AREAS = {
  collapse: ["collapse", "gradient"],
  filter: ["filter"],
  optimisation: ["policy", "value", "optim"],
  rollouts: ["rollout", "reward", "env"],
  throughput: ["time", "perf", "cluster"],
};
const WHY_EMPTY = {
  collapse: "No diagnostics yet: they come every few steps, and need thoughts under several prompts.",
  value: "This run has no critic.",
};

// an axis begins at zero where the metric does, or where it is a share
const fromZero = (metric) => metric.low === 0 || metric.unit === "share";

export class Panels {
  constructor(panels, tags, onPoint) {
    this.onPoint = onPoint;
    this.charts = { overview: panels.map((panel) => this.make(panel.title, panel.names, tags)) };
    document.getElementById("charts-overview").append(...this.charts.overview.map((chart) => chart.panel));
  }

  make(title, names, tags = []) {
    const metrics = names.map(describe);
    const first = metrics[0];
    const range =
      first.low !== null && first.low !== undefined && first.high !== null && first.high !== undefined
        ? [first.low, first.high + 0.02 * (first.high - first.low)]
        : undefined;
    const shown = names.filter((name) => !name.startsWith("eval/"));
    return new Chart(
      {
        title,
        names: shown,
        range,
        fromZero: metrics.every(fromZero),
        include: metrics.flatMap((metric) => metric.high ?? []),
        log: first.log,
        heldOut: names.some((name) => name.startsWith("eval/")) ? tags.slice(0, 1) : [],
        whyEmpty: WHY_EMPTY[first.section],
      },
      this.onPoint,
    );
  }

  draw(view, store, look) {
    return Promise.all(this.of(view, store).map((chart) => chart.draw(store, look)));
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
