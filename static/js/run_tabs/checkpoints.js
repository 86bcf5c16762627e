// The checkpoints of a run, newest first.

import { element } from "../dom.js";
import { ago, bytes } from "../format.js";

export class CheckpointsTab {
  constructor() {
    this.rows = document.getElementById("checkpoints");
  }

  draw({ store }) {
    const rows = store.checkpoints.toReversed().map(row);
    this.rows.replaceChildren(...(rows.length ? rows : [none()]));
  }
}

function row(one) {
  return element(
    "tr",
    {},
    element("td", { class: "num" }, String(one.step)),
    element("td", {}, one.reason),
    element("td", { class: "num" }, bytes(one.bytes)),
    element("td", {}, ago(one.time)),
    element("td", { class: "mono" }, one.path),
  );
}

function none() {
  return element("tr", {}, element("td", { colspan: 5, class: "muted" }, "None yet. Ask for one with Checkpoint."));
}
