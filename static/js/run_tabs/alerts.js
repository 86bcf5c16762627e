// Alerts of the rules, and faults that ended the engine.

import { alertRows } from "../run_alerts.js";

export class AlertsTab {
  constructor(trajectories) {
    this.trajectories = trajectories;
    this.list = document.getElementById("alerts");
  }

  draw({ store, state }) {
    if (store.alerts.length + state.faults.length)
      this.list.replaceChildren(...alertRows(store.alerts, state.faults, this.trajectories));
  }
}
