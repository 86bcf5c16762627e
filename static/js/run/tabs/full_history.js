// A view that looks at whole curves step by step: it gets a store whose steps have the metrics it needs, from the first
// step on. Of a long run a step stands for its bucket, unless the view names what its steps must have: then it gets those
// steps and no others, as they were measured.

import { MeasuredCurves } from "../../charts/sparse_curves.js";

export class WithHistory {
  // `tab` is the view, `wanted` the names of its metrics, `having` those of which its steps have one
  constructor(tab, wanted, having = null) {
    this.tab = tab;
    this.wanted = wanted;
    this.having = having;
  }

  async draw(page) {
    const { store, view } = page;
    const names = [...store.keys].filter((name) => this.wanted.test(name));
    const curves = this.curvesOf(store);
    if (!curves.wantTogether(names)) return; // it is drawn when they have come
    if (!this.having) curves.look(names, view.window && curves.stepsBetween(view.axis, view.window));
    if (this.revision !== curves.revision || this.from !== store) {
      this.steps = curves.table(names).map((row) => ({ ...row, seq: `${row.attempt}-${row.step}` }));
      this.every = curves.everyStep(names[0]);
      this.revision = curves.revision;
      this.from = store;
    }
    await this.tab.draw({ ...page, store: this.history(store) });
  }

  curvesOf(store) {
    if (!this.having) return store.curves;
    this.curves ??= store.follow(new MeasuredCurves(store.curves, this.having));
    return this.curves;
  }

  // The same store, with steps as {seq, step, tokens, seconds, time, elapsed, metrics}, the numbers of `everyStep` that
  // they stand for, the `last` of the run, and points(name).
  history(store) {
    const points = (name) => store.curves.points(name);
    const { steps, every: everyStep } = this;
    return Object.assign(Object.create(store), { steps, everyStep, points, last: store.lastStep() });
  }

  shown(on) {
    this.tab.shown?.(on);
  }

  receive(events) {
    this.tab.receive?.(events);
  }
}
