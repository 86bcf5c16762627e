// The overview: the curves every run shows first, where its time goes, and its newest trajectories.

import { drawPhases } from "../phase_strip.js";

const QUIET = 1500; // milliseconds of news merged before the list is asked for again

export class OverviewTab {
  constructor(panels) {
    this.panels = panels;
    this.list = document.getElementById("latest");
    this.timer = 0;
  }

  async draw({ store, view, state }) {
    const running = store.phase && state.state === "running";
    document.getElementById("phase").textContent = running ? `now: ${store.phase.phase}` : "";
    await this.panels.draw("overview", store, view);
    drawPhases(document.getElementById("phases"), document.getElementById("phase-key"), store);
  }

  // events that the page had not seen
  receive(events) {
    if (events.some((event) => event.kind === "trajectories_recorded" && event.split === "train")) this.refreshSoon();
  }

  refreshSoon() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.refresh(), QUIET);
  }

  async refresh() {
    const answer = await fetch(this.list.dataset.latest).catch(() => null);
    if (!answer?.ok || answer.redirected) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    this.list.replaceChildren(...[...page.querySelectorAll("li")].map((row) => document.adoptNode(row)));
  }
}
