// For a view that reads whole curves step by step: a store whose steps have the metrics it needs, from the first step
// on. In a long run a step stands for its bucket, unless the view names what its steps must have: then it gets only
// those steps, as they were measured.

import { SparseCurves } from "../../charts/sparse_curves.js";

/** @import { HistoryStore, HistoryTab, RunEvent, RunPage } from "../../types.js" */
/** @import { RunStore } from "../store.js" */

export class FullHistory {
  /** @type {SparseCurves | undefined} */
  curves = undefined;
  /** @type {HistoryStore["steps"]} */
  steps = [];
  /** @type {number[]} */
  everyStep = [];
  /** @type {number} */
  revision = -1;
  /** @type {RunStore | undefined} */
  source = undefined;

  /**
   * `wanted` matches the metrics of the view; its steps have one of `having`
   * @param {HistoryTab} tab
   * @param {RegExp} wanted
   * @param {string[] | null} [having]
   */
  constructor(tab, wanted, having = null) {
    this.tab = tab;
    this.wanted = wanted;
    this.having = having;
  }

  /** @param {RunPage} page */
  async draw(page) {
    const { store, view } = page;
    const names = [...store.keys].filter((name) => this.wanted.test(name));
    const curves = this.curvesOf(store);
    if (!curves.wantTogether(names)) return; // it is drawn when they have come
    if (!this.having) curves.zoom(names, view.axis, view.window);
    if (this.revision !== curves.revision || this.source !== store) {
      this.steps = curves.table(names).map((row) => ({ ...row, seq: `${row.attempt ?? 0}-${row.step}` }));
      this.everyStep = curves.everyStep(names[0]);
      this.revision = curves.revision;
      this.source = store;
    }
    await this.tab.draw({ ...page, store: this.history(store) });
  }

  /** @param {RunStore} store */
  curvesOf(store) {
    if (!this.having) return store.curves;
    this.curves ??= store.follow(new SparseCurves(store.curves, this.having));
    return this.curves;
  }

  /**
   * The same store with other steps, the numbers of every step that they stand for, and the last step of the run.
   * @param {RunStore} store
   * @returns {HistoryStore}
   */
  history(store) {
    const points = (/** @type {string} */ name) => store.curves.points(name);
    const { steps, everyStep } = this;
    return Object.assign(Object.create(store), { steps, everyStep, points, last: store.lastStep() });
  }

  /** @param {boolean} on */
  shown(on) {
    this.tab.shown?.(on);
  }

  /** @param {RunEvent[]} events */
  receive(events) {
    this.tab.receive?.(events);
  }
}
