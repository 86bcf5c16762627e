// A slot for the chart of a metric, which is made when it first comes into view.

import { element } from "../core/dom.js";

/** @import { ChartPage, Position } from "../types.js" */
/** @import { Chart } from "../charts/chart.js" */
/** @import { Panels } from "./panels.js" */

export class MetricSlot {
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
