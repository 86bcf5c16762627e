// Every view of the run page by its key. A view has draw(page), with page = {store, view, state}; on demand also
// shown(on), when it comes and goes, receive(events), for news whether it is in view or not.

import { AlertsTab } from "./alerts.js";
import { ChartsTab } from "./charts.js";
import { CheckpointsTab } from "./checkpoints.js";
import { ConfigTab } from "./config.js";
import { ControlTab } from "./control.js";
import { LogTab } from "./log.js";
import { OverviewTab } from "./overview.js";

export function makeTabs(root, panels) {
  return {
    overview: new OverviewTab(panels),
    collapse: new ChartsTab(panels, "collapse"),
    filter: new ChartsTab(panels, "filter"),
    optimisation: new ChartsTab(panels, "optimisation"),
    rollouts: new ChartsTab(panels, "rollouts"),
    throughput: new ChartsTab(panels, "throughput"),
    config: new ConfigTab(),
    log: new LogTab(root.dataset.log),
    checkpoints: new CheckpointsTab(),
    control: new ControlTab(),
    alerts: new AlertsTab(root.dataset.trajectories),
  };
}

export const WITH_CHARTS = ["overview", "collapse", "filter", "optimisation", "rollouts", "throughput"];
