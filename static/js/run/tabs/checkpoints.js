// The checkpoints of a run, newest first, and a fork from each that is still there.

import { element } from "../../core/dom.js";
import { ago, bytes } from "../../core/format.js";
import { heldBy, keptSteps, sparedStep } from "../retained_checkpoints.js";
import { refill } from "../../lists/refresh_rows.js";

export class CheckpointsTab {
  constructor() {
    this.rows = document.getElementById("checkpoint-list");
  }

  draw({ store }) {
    const held = heldBy(store, Number(this.rows.dataset.keep));
    const [kept, spared] = [new Set(keptSteps(held)), sparedStep(held)];
    const about = (one) => ({ there: kept.has(one.step), spared: one.step === spared, fork: this.rows.dataset.fork });
    const rows = store.checkpoints.toReversed().map((one) => row(one, about(one)));
    refill(this.rows, rows.length ? rows : [none()], (one) => one.dataset.path);
  }
}

const SPARED = { class: "muted", title: "The last before the trouble began for which a rule asked for a fork" };

function row(one, { there, spared, fork }) {
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
      spared ? element("span", SPARED, " kept for a rule's fork") : "",
    ),
  );
}

function none() {
  return element("tr", {}, element("td", { colspan: 6, class: "muted" }, "None yet. Ask for one with Checkpoint."));
}
