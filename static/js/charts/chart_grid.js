// Charts that share their crosshair and window. One that is out of view asks for nothing and draws nothing.

import { markCharts, placeOn } from "./step_line.js";

const MARGIN = "300px"; // how far out of view a chart is made ready
const MANY = 100; // charts; in a larger grid those that leave are taken down again

function isInView(chart) {
  const { top, bottom } = chart.panel.getBoundingClientRect();
  return bottom > 0 && top < innerHeight;
}

export class ChartGrid {
  // `onNear()` when charts have come into view
  constructor(target, onNear) {
    this.target = target;
    this.charts = [];
    this.near = new Set();
    this.byPanel = new WeakMap();
    this.watch = new IntersectionObserver((entries) => this.noted(entries, onNear), { rootMargin: MARGIN });
  }

  noted(entries, onNear) {
    for (const { target, isIntersecting } of entries) {
      const chart = this.byPanel.get(target);
      if (isIntersecting) this.near.add(chart);
      else if (this.near.delete(chart) && this.charts.length > MANY && target.isConnected) chart.unmount();
    }
    if (entries.some((entry) => entry.isIntersecting)) onNear();
  }

  // Adds charts at the end, with anything else that stands among them.
  append(...things) {
    for (const thing of things) {
      this.target.append(thing.panel ?? thing);
      if (!thing.panel) continue;
      this.charts.push(thing);
      this.byPanel.set(thing.panel, thing);
      this.watch.observe(thing.panel);
    }
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

  // page: {store, view, mark: the step that has a line, if it is not the view's}
  async draw(page) {
    const { curves } = page.store;
    const shown = this.charts.filter((chart) => this.near.has(chart) && !chart.panel.hidden);
    const keys = [...new Set(shown.flatMap((chart) => chart.spec.names))];
    curves.want(keys);
    const { window, axis } = page.view;
    curves.look(keys, window && curves.stepsBetween(axis, window));
    shown.forEach((chart) => chart.prepare?.());
    shown.forEach((chart) => chart.measure());
    const looked = shown.filter(isInView);
    const others = shown.filter((chart) => !looked.includes(chart));
    for (const chart of looked) await chart.draw(page);
    if (others.length) await new Promise(requestAnimationFrame); // what is looked at is on the screen first
    for (const chart of others) await chart.draw(page);
    if (this.place) shown.forEach((chart) => chart.mark(this.place));
    markCharts(this.target, () => placeOn(page.store, page.view, page.mark ?? page.view.step));
  }

  // the crosshair
  mark(place) {
    this.place = place;
    cancelAnimationFrame(this.marking);
    this.marking = requestAnimationFrame(() => this.near.forEach((chart) => chart.mark(place)));
  }
}
