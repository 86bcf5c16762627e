// A view that looks at whole curves step by step: it gets a store whose steps have the metrics it needs, from the first
// step on. Of a run that is sent in buckets, a step stands for its bucket.

import { at } from "../curves.js";

export class WithHistory {
  // `tab` is the view, `wanted` the names of its metrics
  constructor(tab, wanted) {
    this.tab = tab;
    this.wanted = wanted;
  }

  async draw(page) {
    const { store } = page;
    const names = [...store.keys].filter((name) => this.wanted.test(name));
    if (!store.curves.wantTogether(names)) return; // it is drawn when they have come
    if (this.revision !== store.curves.revision || this.from !== store) {
      this.history = historyOf(store, names);
      this.revision = store.curves.revision;
      this.from = store;
    }
    await this.tab.draw({ ...page, store: this.history });
  }

  shown(on) {
    this.tab.shown?.(on);
  }

  receive(events) {
    this.tab.receive?.(events);
  }
}

// The same store, with steps as {seq, step, tokens, seconds, time, elapsed, metrics} and series(name, axis).
function historyOf(store, names) {
  const { curves } = store;
  const steps = curves.table(names).map((row) => ({ ...row, seq: `${row.attempt}-${row.step}` }));
  const series = (name, axis) =>
    curves.points(name).map((point) => ({ x: at(point, axis), y: point.y, step: point.step }));
  return Object.assign(Object.create(store), { steps, series });
}
