// Every metric of the run, filtered by a pattern. However many there are, only the charts in view are drawn.

import { byId, element } from "../../core/dom.js";
import { describe } from "../../core/glossary.js";

/** @import { ChartPage, Position, RunPage } from "../../types.js" */
/** @import { Chart } from "../../charts/chart.js" */
/** @import { ChartGrid } from "../../charts/chart_grid.js" */
/** @import { Panels } from "../panels.js" */

const PAUSE = 120; // milliseconds without typing

export class MetricsTab {
  /** @type {Map<string, Slot>} */
  slots = new Map();
  /** @type {ChartGrid | undefined} */
  grid = undefined;
  /** @type {number} */
  seen = -1;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  typing = undefined;

  /**
   * @param {Panels} panels
   * @param {{ key: string, title: string }[]} sections
   */
  constructor(panels, sections) {
    this.panels = panels;
    this.sections = sections; // [{key, title}] in the order of the page
    this.input = byId("metric-filter", HTMLInputElement);
    this.count = byId("metric-count");
    this.input.value = new URL(location.href).searchParams.get("metrics") ?? "";
    this.input.addEventListener("input", () => {
      clearTimeout(this.typing);
      this.typing = setTimeout(() => this.filter(), PAUSE);
    });
  }

  /** @param {RunPage} runPage */
  async draw({ store, view }) {
    if (this.seen !== store.keys.size) this.arrange(store.keys);
    await this.grid?.draw({ store, view });
  }

  /**
   * Makes a slot for each metric, ordered by section and name.
   * @param {Set<string>} keys
   */
  arrange(keys) {
    this.seen = keys.size;
    const target = byId("charts-metrics");
    const set = this.panels.add("metrics", target, []);
    this.grid = set.grid;
    const order = this.sections.map((section) => section.key);
    const rank = (/** @type {string} */ name) => order.indexOf(describe(name).section) >>> 0;
    const names = [...keys].sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
    this.slots = new Map(names.map((name) => [name, new Slot(name, this.panels)]));
    this.grid.append(...this.slots.values());
    this.filter();
  }

  filter() {
    const text = this.input.value.trim();
    const address = new URL(location.href);
    if (text) address.searchParams.set("metrics", text);
    else address.searchParams.delete("metrics");
    history.replaceState(null, "", address);
    const { pattern, problem } = patternOf(text);
    this.input.setAttribute("aria-invalid", String(Boolean(problem)));
    let shown = 0;
    for (const [name, slot] of this.slots) {
      slot.panel.hidden = !pattern.test(name) && !pattern.test(describe(name).title);
      if (!slot.panel.hidden) shown += 1;
    }
    this.count.textContent = problem
      ? `${problem} It is searched as plain text.`
      : `${shown} of ${this.slots.size} metrics`;
    this.panels.host.onNear();
  }
}

// A slot for a chart, which is made when it first comes into view.
class Slot {
  /** @type {Chart | undefined} */
  chart = undefined;

  /**
   * @param {string} name
   * @param {Panels} panels
   */
  constructor(name, panels) {
    this.spec = { names: [name] };
    this.panels = panels;
    this.panel = element("div", { class: "chart-slot", "data-metric-name": name });
  }

  prepare() {
    this.chart ??= this.make();
  }

  make() {
    const chart = this.panels.chart({ title: "", names: this.spec.names });
    this.panel.append(chart.panel);
    return chart;
  }

  measure() {
    this.chart?.measure();
  }

  /** @param {ChartPage} page */
  async draw(page) {
    this.prepare(); // it may have left and come back since
    await this.chart?.draw(page);
  }

  /** @param {Position | null} position */
  mark(position) {
    this.chart?.mark(position);
  }

  unmount() {
    this.chart?.unmount();
    this.chart = undefined;
    this.panel.replaceChildren();
  }
}

/** @param {string} text */
function patternOf(text) {
  try {
    return { pattern: new RegExp(text, "i"), problem: "" };
  } catch {
    const plain = text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
    return { pattern: new RegExp(plain, "i"), problem: "This is not a regular expression." };
  }
}
