// Charts that share their crosshair and window. One that is out of view requests nothing and draws nothing.

import { markCharts, coordinateOf } from "./step_line.js";

/** @import { ChartPage, Position } from "../types.js" */
/** @import { Chart } from "./chart.js" */

const MARGIN = "300px"; // how far out of view a chart is prepared
const MANY = 100; // charts; of a larger grid those that leave the view are removed from it

/** @param {Shown} chart */
function isInView(chart) {
  const { top, bottom } = chart.panel.getBoundingClientRect();
  return bottom > 0 && top < innerHeight;
}

/** @typedef {Pick<Chart, "panel" | "spec" | "draw" | "measure" | "mark" | "unmount"> & { prepare?: () => void, takePreview?: (panel: Element) => void }} Shown */

export class ChartGrid {
  /** @type {Position | null} */
  position = null;
  /** @type {number} */
  marking = 0;

  /**
   * `onNear()` is called when charts have come into view
   * @param {HTMLElement} target
   * @param {() => void} onNear
   */
  constructor(target, onNear) {
    this.target = target;
    /** @type {Shown[]} */
    this.charts = [];
    /** @type {Set<Shown>} */
    this.near = new Set();
    /** @type {WeakMap<Element, Shown>} */
    this.byPanel = new WeakMap();
    this.watch = new IntersectionObserver((entries) => this.noteVisible(entries, onNear), { rootMargin: MARGIN });
  }

  /**
   * @param {IntersectionObserverEntry[]} entries
   * @param {() => void} onNear
   */
  noteVisible(entries, onNear) {
    for (const { target, isIntersecting } of entries) {
      const chart = this.byPanel.get(target);
      if (!chart) continue;
      if (isIntersecting) this.near.add(chart);
      else if (this.near.delete(chart) && this.charts.length > MANY && target.isConnected) chart.unmount();
    }
    if (entries.some((entry) => entry.isIntersecting)) onNear();
  }

  /**
   * Adds charts at the end, or in place of the preview that the server has drawn of them.
   * @param {...Shown} charts
   */
  append(...charts) {
    this.appendTo(this.target, ...charts);
  }

  /**
   * Adds charts at the end of an element within the grid's own.
   * @param {HTMLElement} target
   * @param {...Shown} charts
   */
  appendTo(target, ...charts) {
    for (const chart of charts) {
      const name = CSS.escape(chart.panel.dataset.chart ?? "");
      const preview = target.querySelector(`:scope > [data-preview="${name}"]`);
      if (preview) {
        chart.takePreview?.(preview);
        preview.replaceWith(chart.panel);
      } else target.append(chart.panel);
      this.charts.push(chart);
      this.byPanel.set(chart.panel, chart);
      this.watch.observe(chart.panel);
    }
  }

  /** @param {Shown} chart */
  remove(chart) {
    this.watch.unobserve(chart.panel);
    this.near.delete(chart);
    this.charts = this.charts.filter((one) => one !== chart);
    chart.unmount();
    chart.panel.remove();
  }

  clear() {
    for (const chart of this.charts) {
      this.watch.unobserve(chart.panel);
      chart.unmount();
    }
    this.charts = [];
    this.near.clear();
    this.target.replaceChildren();
  }

  /** @param {ChartPage} page */
  async draw(page) {
    const { curves } = page.store;
    const shown = this.charts.filter((chart) => this.near.has(chart) && !chart.panel.hidden);
    const keys = [...new Set(shown.flatMap((chart) => chart.spec.names))];
    curves.want(keys);
    curves.zoom(keys, page.view.axis, page.view.window);
    page.store.lineage?.want(keys, page.view.axis, page.view.window);
    shown.forEach((chart) => chart.prepare?.());
    shown.forEach((chart) => chart.measure());
    const inView = shown.filter(isInView);
    const others = shown.filter((chart) => !inView.includes(chart));
    for (const chart of inView) await chart.draw(page);
    if (others.length) await new Promise(requestAnimationFrame); // charts in view are on the screen first
    for (const chart of others) await chart.draw(page);
    if (this.position) shown.forEach((chart) => chart.mark(this.position));
    markCharts(this.target, () => coordinateOf(page.store, page.view, page.mark ?? page.view.step));
  }

  /**
   * the crosshair
   * @param {Position | null} position
   */
  mark(position) {
    this.position = position;
    cancelAnimationFrame(this.marking);
    this.marking = requestAnimationFrame(() => this.near.forEach((chart) => chart.mark(position)));
  }
}
