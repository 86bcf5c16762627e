// Every view of the run page by its key. A view has draw(page), with page = {store, view, state}; on demand also
// shown(on), when it comes and goes, receive(events), for news whether it is in view or not.

import { AlertsTab } from "./alerts.js";
import { ChartsTab } from "./charts.js";
import { CheckpointsTab } from "./checkpoints.js";
import { CollapseTab } from "./collapse.js";
import { FilterTab } from "./filter.js";
import { ConfigTab } from "./config.js";
import { ControlTab } from "./control.js";
import { LogTab } from "./log.js";
import { OverviewTab } from "./overview.js";
import { RolloutsTab } from "./rollouts.js";

export function makeTabs(root, panels) {
  const facts = JSON.parse(document.getElementById("watching").textContent);
  return {
    overview: new OverviewTab(panels),
    collapse: new CollapseTab(panels, root.dataset, facts),
    filter: new FilterTab(panels, root.dataset, facts),
    optimisation: new ChartsTab(panels, "optimisation"),
    rollouts: new RolloutsTab(panels, root.dataset, facts),
    throughput: new ChartsTab(panels, "throughput"),
    config: new ConfigTab(),
    log: new LogTab(root.dataset.log),
    checkpoints: new CheckpointsTab(),
    control: new ControlTab(),
    alerts: new AlertsTab(root.dataset.trajectories),
  };
}

export const WITH_CHARTS = ["overview", "collapse", "filter", "optimisation", "rollouts", "throughput"];
