// Alerts of the rules, faults that ended the engine, and the rules themselves.

import { notifyOf, prepareNotifications } from "../browser_notifications.js";
import { lastBefore } from "../kept_checkpoints.js";
import { RulesPanel } from "../rules_panel.js";
import { alertRows } from "../run_alerts.js";

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
    const drawn = JSON.stringify([store.alerts.length, state.faults.length, store.checkpoints.at(-1)?.path]);
    if (drawn === this.drawn) return; // whoever reads one is not moved
    this.drawn = drawn;
    const places = {
      trajectories: this.trajectories,
      evidence: this.list.dataset.evidence,
      fork: this.list.dataset.fork,
      goodStep: (alert) => lastBefore(store.checkpoints, keep, alert.step),
    };
    this.list.replaceChildren(...alertRows(store.alerts, state.faults, places));
  }

  // events that the page had not seen
  receive(events) {
    const alerts = events.filter((event) => event.kind === "alert_raised");
    notifyOf(alerts, document.getElementById("run-name").textContent, this.list.dataset.evidence);
  }
}
