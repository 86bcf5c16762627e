// The checkpoints of a run, newest first, and a fork from each that still exists.

import { byId, element } from "../../core/dom.js";
import { ago, bytes } from "../../core/format.js";
import { bestOf, retainedSteps } from "../retained_checkpoints.js";
import { refreshRows } from "../../lists/refresh_rows.js";

/** @import { CheckpointSaved, RunPage } from "../../types.js" */

export class CheckpointsTab {
  constructor() {
    this.rows = byId("checkpoint-list");
  }

  /** @param {RunPage} runPage */
  draw({ store }) {
    const [retained, best] = [new Set(retainedSteps(store.checkpoints)), bestOf(store.checkpoints)];
    const { fork = "" } = this.rows.dataset;
    const newestFirst = [...store.checkpoints].reverse();
    const rows = newestFirst.map((one) =>
      row(one, { retained: retained.has(one.step), best: one.step === best, fork }),
    );
    refreshRows(this.rows, rows.length ? rows : [none()], (one) => one.dataset.path);
  }
}

const BEST = { class: "muted", title: "Of the checkpoints that exist, the highest success in held-out evaluation" };

/**
 * @param {CheckpointSaved} one
 * @param {{ retained: boolean, best: boolean, fork: string }} options
 */
function row(one, { retained, best, fork }) {
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
      retained
        ? element("a", link, "Fork", element("span", { class: "visually-hidden" }, ` from step ${one.step}`))
        : element("span", { class: "muted" }, "removed"),
      best ? element("span", BEST, " best held-out success") : "",
    ),
  );
}

function none() {
  return element("tr", {}, element("td", { colspan: 6, class: "muted" }, "None yet. Ask for one with Checkpoint."));
}
