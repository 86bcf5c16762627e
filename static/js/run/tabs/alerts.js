// Alerts of the rules, faults that ended the engine, and the rules themselves.

import { notifyOf, prepareNotifications } from "../../core/browser_notifications.js";
import { heldBy, lastBefore } from "../retained_checkpoints.js";
import { refill } from "../../lists/refresh_rows.js";
import { RulesPanel } from "../rules_panel.js";
import { alertRows } from "../alert_list.js";

export class AlertsTab {
  constructor(trajectories) {
    this.trajectories = trajectories;
    this.list = document.getElementById("alert-list");
    this.rules = new RulesPanel(trajectories);
    const button = document.getElementById("browser-notify");
    prepareNotifications(button, document.getElementById("browser-notify-words"));
  }

  draw({ store, state }) {
    this.rules.draw(state);
    if (!(store.alerts.length + state.faults.length)) return;
    const keep = Number(document.getElementById("checkpoint-list").dataset.keep);
    const held = heldBy(store, keep);
    const fork = [store.checkpoints.at(-1)?.path, held.forkBefore];
    const drawn = JSON.stringify([store.alerts.length, state.faults.length, ...fork]);
    if (drawn === this.drawn) return; // whoever reads one is not moved
    this.drawn = drawn;
    const places = {
      trajectories: this.trajectories,
      evidence: this.list.dataset.evidence,
      fork: this.list.dataset.fork,
      goodStep: (alert) => lastBefore(held, alert.since ?? alert.step),
    };
    inPlace(document.getElementById("view-alerts"), () =>
      refill(this.list, alertRows(store.alerts, state.faults, places), nameOf),
    );
  }

  // events that the page had not seen
  receive(events) {
    const alerts = events.filter((event) => event.kind === "alert_raised");
    notifyOf(alerts, document.getElementById("run-name").textContent, this.list.dataset.evidence);
  }
}

// of an alert the address of its evidence, of a fault when it was
const nameOf = (row) => `${row.querySelector("a")?.getAttribute("href")} ${row.querySelector("small")?.textContent}`;

// What has the focus in `view` stays where it is on the screen.
function inPlace(view, act) {
  const held = () => view.contains(document.activeElement) && document.activeElement.getBoundingClientRect().top;
  const before = held();
  act();
  const after = held();
  if (before !== false && after !== false) scrollBy(0, after - before);
}
