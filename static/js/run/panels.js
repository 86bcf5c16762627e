// The sets of charts of a run's page: each set is a preset (webapp/panels/presets.py) or the reader's own layout.

import { ChartGrid } from "../charts/chart_grid.js";
import { Chart } from "../charts/chart.js";
import { withoutPatterns } from "../charts/chart_patterns.js";
import { byId } from "../core/dom.js";
import { describe } from "../core/glossary.js";

/** @import { ChartChoice, ChartHost, ChartPage, ChartSpec, Metric, Position, Preset } from "../types.js" */

/** @type {Record<string, string>} views whose preset has another name */
const PRESET_OF = { rollouts: "environment" };
const HELD_OUT = "eval/success";
/** @type {Record<string, string>} by section of the glossary */
const WHY_EMPTY = {
  collapse: "No diagnostics yet. They run every few steps and need thoughts for several prompts.",
  value: "This run has no critic.",
};

/**
 * an axis begins at zero where the metric does, or where it is a share
 * @param {Metric} metric
 */
const fromZero = (metric) => metric.low === 0 || metric.unit === "share";

export class Panels {
  /** @type {Map<string, PanelSet>} */
  sets = new Map();

  /**
   * @param {Preset[]} presets
   * @param {string[]} tags
   * @param {ChartHost & { onNear: () => void }} host
   */
  constructor(presets, tags, host) {
    this.presets = presets;
    this.tags = tags;
    this.host = host;
  }

  /** @param {string} key */
  preset(key) {
    return this.presets.find((preset) => preset.key === key);
  }

  /**
   * Draws the preset of a view; `mark` is a step that has a line.
   * @param {string} key
   * @param {ChartPage["store"] & { keys: Set<string> }} store
   * @param {ChartPage["view"]} view
   * @param {number | null} [mark]
   */
  draw(key, store, view, mark = null) {
    const preset = this.preset(PRESET_OF[key] ?? key);
    const set = this.sets.get(key) ?? this.add(key, byId(`charts-${key}`), preset?.charts ?? []);
    return set.draw({ store, view, mark });
  }

  /**
   * Makes a set of charts in an element of the page.
   * @param {string} key
   * @param {HTMLElement} target
   * @param {ChartChoice[]} charts
   */
  add(key, target, charts) {
    this.sets.get(key)?.grid.clear();
    const made = new PanelSet(charts, new ChartGrid(target, this.host.onNear), this);
    made.whole = key === "overview";
    this.sets.set(key, made);
    return made;
  }

  /** @param {Position | null} position */
  mark(position) {
    for (const set of this.sets.values()) set.grid.mark(position);
  }

  /** @param {ChartChoice} chartChoice */
  chart({ title, names, log }) {
    const metrics = names.map(describe);
    const [first] = metrics;
    const [lows, highs] = [metrics.flatMap((one) => one.low ?? []), metrics.flatMap((one) => one.high ?? [])];
    const bounded = lows.length === metrics.length && highs.length === metrics.length;
    /** @type {ChartSpec} */
    const spec = {
      title: title || first.title,
      names: names.filter((name) => name !== HELD_OUT),
      range: bounded ? boundedRange(Math.min(...lows), Math.max(...highs)) : undefined,
      fromZero: metrics.every(fromZero),
      include: highs,
      log: log ?? metrics.every((metric) => Boolean(metric.log)),
      heldOut: names.includes(HELD_OUT) ? this.tags.slice(0, 1) : [],
      whyEmpty: WHY_EMPTY[first.section],
    };
    return new Chart(spec, this.host);
  }
}

/**
 * The range of an axis between two bounds, with a margin above.
 * @param {number} low
 * @param {number} high
 * @returns {[number, number]}
 */
export const boundedRange = (low, high) => [low, high + 0.02 * (high - low)];

class PanelSet {
  /** @type {Set<string>} */
  made = new Set();
  /** @type {Set<string>} metrics that patterns were compared with */
  seen = new Set();
  /** @type {boolean} */
  whole = false;

  /**
   * @param {ChartChoice[]} charts
   * @param {ChartGrid} grid
   * @param {Panels} panels
   */
  constructor(charts, grid, panels) {
    this.charts = charts;
    this.grid = grid;
    this.panels = panels;
  }

  /** @param {ChartPage & { store: { keys: Set<string> } }} page */
  async draw(page) {
    this.makeKnown(page.store.keys);
    await this.grid.draw(page);
  }

  /**
   * Makes the charts of which a metric is known; those of a pattern as their metrics appear.
   * @param {Set<string>} keys
   */
  makeKnown(keys) {
    if (this.seen.size === keys.size && this.seen.size) return;
    const fresh = [...keys].filter((key) => !this.seen.has(key));
    for (const chart of withoutPatterns(this.charts, fresh)) {
      if (this.whole || chart.names.some((one) => keys.has(one))) this.make(chart);
    }
    fresh.forEach((key) => this.seen.add(key));
  }

  /** @param {ChartChoice} chart */
  make(chart) {
    const id = chart.names.join("\n");
    if (this.made.has(id)) return;
    this.made.add(id);
    this.grid.append(this.panels.chart(chart));
  }
}
