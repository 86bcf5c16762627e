// The overview: the main curves, where time is spent, and the newest trajectories.

import { byId, findAll } from "../../core/dom.js";
import { drawPhases } from "../phase_bars.js";
import { refreshRows } from "../../lists/refresh_rows.js";

/** @import { RunEvent, RunPage } from "../../types.js" */
/** @import { Panels } from "../panels.js" */

const DELAY = 1500; // milliseconds in which updates are merged into one request

export class OverviewTab {
  /** @type {ReturnType<typeof setTimeout> | null} */
  timer = null;
  /** @type {boolean} */
  inView = false;

  /** @param {Panels} panels */
  constructor(panels) {
    this.panels = panels;
    this.list = byId("latest");
    this.due = false; // there are newer trajectories than those of the list
  }

  /** @param {boolean} on */
  shown(on) {
    this.inView = on;
  }

  /** @param {RunPage} runPage */
  async draw({ store, view, state }) {
    if (this.due) this.refreshSoon();
    const phase = state.state === "running" ? store.phase?.phase : undefined;
    byId("phase").textContent = phase ? `now: ${phase}` : "";
    await this.panels.draw("overview", store, view);
    drawPhases(byId("phases"), byId("phase-key"), store);
  }

  /**
   * New events.
   * @param {RunEvent[]} events
   */
  receive(events) {
    if (events.some((event) => event.kind === "trajectories_recorded" && event.split === "train")) this.due = true;
  }

  refreshSoon() {
    this.timer ??= setTimeout(() => {
      this.timer = null;
      if (this.inView && !document.hidden) this.refresh(); // or when it is drawn again
    }, DELAY);
  }

  async refresh() {
    this.due = false;
    const answer = await fetch(this.list.dataset.latest ?? "").catch(() => null);
    if (!answer?.ok || answer.redirected) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    refreshRows(this.list, findAll(page, "li"), (row) => row.querySelector("a")?.getAttribute("href"));
  }
}
