// The checkpoints of a run, newest first, and a fork from each that is still there.

import { element } from "../dom.js";
import { ago, bytes } from "../format.js";
import { keptSteps } from "../kept_checkpoints.js";
import { refill } from "../refill.js";

export class CheckpointsTab {
  constructor() {
    this.rows = document.getElementById("checkpoint-list");
  }

  draw({ store }) {
    const kept = new Set(keptSteps(store.checkpoints, Number(this.rows.dataset.keep)));
    const rows = store.checkpoints.toReversed().map((one) => row(one, kept.has(one.step), this.rows.dataset.fork));
    refill(this.rows, rows.length ? rows : [none()], (one) => one.dataset.path);
  }
}

function row(one, there, fork) {
  const link = { class: "button button--small", href: `${fork}&step=${one.step}` };
  return element(
    "tr",
    { "data-path": one.path },
    element("td", { class: "num" }, String(one.step)),
    element("td", {}, one.reason),
    element("td", { class: "num" }, bytes(one.bytes)),
    element("td", {}, ago(one.time)),
    element("td", { class: "mono" }, one.path),
    element(
      "td",
      {},
      there
        ? element("a", link, "Fork", element("span", { class: "visually-hidden" }, ` from step ${one.step}`))
        : element("span", { class: "muted" }, "removed"),
    ),
  );
}

function none() {
  return element("tr", {}, element("td", { colspan: 6, class: "muted" }, "None yet. Ask for one with Checkpoint."));
}
