// The overview: the curves every run shows first, where its time goes, and its newest trajectories.

import { drawPhases } from "../phase_bars.js";
import { refill } from "../../lists/refresh_rows.js";

const QUIET = 1500; // milliseconds of news merged before the list is asked for again

export class OverviewTab {
  constructor(panels) {
    this.panels = panels;
    this.list = document.getElementById("latest");
    this.timer = null;
    this.due = false; // newer trajectories than those of the list
  }

  shown(on) {
    this.looked = on;
  }

  async draw({ store, view, state }) {
    if (this.due) this.refreshSoon();
    const running = store.phase && state.state === "running";
    document.getElementById("phase").textContent = running ? `now: ${store.phase.phase}` : "";
    await this.panels.draw("overview", store, view);
    drawPhases(document.getElementById("phases"), document.getElementById("phase-key"), store);
  }

  // events that the page had not seen
  receive(events) {
    if (events.some((event) => event.kind === "trajectories_recorded" && event.split === "train")) this.due = true;
  }

  refreshSoon() {
    this.timer ??= setTimeout(() => {
      this.timer = null;
      if (this.looked && !document.hidden) this.refresh(); // or when it is drawn again
    }, QUIET);
  }

  async refresh() {
    this.due = false;
    const answer = await fetch(this.list.dataset.latest).catch(() => null);
    if (!answer?.ok || answer.redirected) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    refill(this.list, [...page.querySelectorAll("li")], (row) => row.querySelector("a")?.getAttribute("href"));
  }
}
