// The sets of charts of a run's page: what each set shows is the server's (webapp/panels/presets.py) or the reader's.

import { ChartGrid } from "../charts/chart_grid.js";
import { Chart } from "../charts/chart.js";
import { describe } from "../core/glossary.js";

const ELSEWHERE = { rollouts: "environment" }; // a view's place by another name than its preset
const HELD_OUT = "eval/success";
const WHY_EMPTY = {
  collapse: "No diagnostics yet: they come every few steps, and need thoughts under several prompts.",
  value: "This run has no critic.",
};

// an axis begins at zero where the metric does, or where it is a share
const fromZero = (metric) => metric.low === 0 || metric.unit === "share";
const known = (value) => value !== null && value !== undefined;

export class Panels {
  // host: what `Chart` asks for, and onNear() when charts have come into view
  constructor(presets, tags, host) {
    Object.assign(this, { presets, tags, host });
    this.sets = new Map(); // key -> PanelSet
  }

  preset(key) {
    return this.presets.find((preset) => preset.key === key);
  }

  // the preset `key`, in the place that its view has for it; `mark` is a step that has a line
  draw(key, store, view, mark = null) {
    const preset = this.preset(ELSEWHERE[key] ?? key);
    if (!this.sets.has(key)) this.add(key, document.getElementById(`charts-${key}`), preset.charts);
    return this.sets.get(key).draw({ store, view, mark });
  }

  // Charts, each {title, names, log: null where it is as usual}, at a place of the page.
  add(key, target, charts) {
    this.sets.get(key)?.grid.clear();
    const made = new PanelSet(charts, new ChartGrid(target, this.host.onNear), this);
    made.whole = key === "overview";
    this.sets.set(key, made);
    return made;
  }

  mark(place) {
    for (const set of this.sets.values()) set.grid.mark(place);
  }

  chart({ title, names, log }) {
    const metrics = names.map(describe);
    const [first] = metrics;
    const bounded = metrics.every((one) => known(one.low) && known(one.high));
    const low = Math.min(...metrics.map((one) => one.low));
    const high = Math.max(...metrics.map((one) => one.high));
    const spec = {
      title: title || first.title,
      names: names.filter((name) => name !== HELD_OUT),
      range: bounded ? [low, high + 0.02 * (high - low)] : undefined,
      fromZero: metrics.every(fromZero),
      include: metrics.flatMap((metric) => metric.high ?? []),
      log: log ?? metrics.every((metric) => metric.log),
      heldOut: names.includes(HELD_OUT) ? this.tags.slice(0, 1) : [],
      whyEmpty: WHY_EMPTY[first.section],
    };
    return new Chart(spec, this.host);
  }
}

class PanelSet {
  constructor(charts, grid, panels) {
    Object.assign(this, { charts, grid, panels });
    this.made = new Set();
  }

  async draw(page) {
    this.makeWhatHasCome(page.store.keys);
    await this.grid.draw(page);
  }

  // A chart is made once one of its metrics has come; those of a pattern as they come.
  makeWhatHasCome(keys) {
    if (this.seen === keys.size && this.seen) return;
    this.seen = keys.size;
    const claimed = new Set(this.charts.flatMap((chart) => chart.names));
    for (const chart of this.charts) {
      const [name] = chart.names;
      if (name.endsWith("*")) {
        const area = name.slice(0, -1);
        const fitting = [...keys].filter((key) => key.startsWith(area) && !claimed.has(key)).sort();
        fitting.forEach((key) => this.make({ title: "", names: [key] }));
      } else if (this.whole || chart.names.some((one) => keys.has(one))) this.make(chart);
    }
  }

  make(chart) {
    const id = chart.names.join("\n");
    if (this.made.has(id)) return;
    this.made.add(id);
    this.grid.append(this.panels.chart(chart));
  }
}
