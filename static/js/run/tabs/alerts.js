// Alerts of the rules, faults that ended the engine, and the rules themselves.

import { byId } from "../../core/dom.js";
import { notifyOf, prepareNotifications } from "../../core/browser_notifications.js";
import { lastBefore } from "../retained_checkpoints.js";
import { refreshRows } from "../../lists/refresh_rows.js";
import { RulesPanel } from "../rules_panel.js";
import { alertRows, signOf } from "../alert_list.js";

/** @import { RunEvent, RunPage } from "../../types.js" */
/** @import { AlertLinks } from "../alert_list.js" */

export class AlertsTab {
  /** @type {string} */
  drawn = "";

  /** @param {string} trajectories */
  constructor(trajectories) {
    this.trajectories = trajectories;
    this.list = byId("alert-list");
    this.rules = new RulesPanel(trajectories);
    prepareNotifications(byId("browser-notify"), byId("browser-notify-note"));
  }

  /** @param {RunPage} runPage */
  draw({ store, state }) {
    this.rules.draw(state);
    if (!(store.alerts.length + state.faults.length)) return;
    const drawn = JSON.stringify([store.alerts.length, state.faults.length, store.checkpoints.at(-1)?.path]);
    if (drawn === this.drawn) return; // the list does not move under the reader
    this.drawn = drawn;
    /** @type {AlertLinks} */
    const links = {
      trajectories: this.trajectories,
      evidence: this.list.dataset.evidence ?? "",
      fork: this.list.dataset.fork ?? "",
      every: Number(this.list.dataset.every),
      goodStep: (alert) => lastBefore(store.checkpoints, signOf(alert)),
    };
    keepFocusInPlace(byId("view-alerts"), () => {
      refreshRows(this.list, alertRows(store.alerts, state.faults, links), keyOf);
    });
  }

  /**
   * New events.
   * @param {RunEvent[]} events
   */
  receive(events) {
    const alerts = events.flatMap((event) => (event.kind === "alert_raised" ? [event] : []));
    notifyOf(alerts, byId("run-name").textContent ?? "", this.list.dataset.evidence ?? "");
  }
}

/**
 * of an alert the address of its evidence, of a fault its time
 * @param {HTMLElement} row
 */
const keyOf = (row) => `${row.querySelector("a")?.getAttribute("href")} ${row.querySelector("small")?.textContent}`;

/**
 * Keeps the focused element of `view` where it is on the screen.
 * @param {HTMLElement} view
 * @param {() => void} act
 */
function keepFocusInPlace(view, act) {
  const top = () =>
    view.contains(document.activeElement) ? document.activeElement?.getBoundingClientRect().top : undefined;
  const before = top();
  act();
  const after = top();
  if (before !== undefined && after !== undefined) scrollBy(0, after - before);
}
