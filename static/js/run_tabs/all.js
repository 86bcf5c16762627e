// Every view of the run page by its key. A view has draw(page), with page = {store, view, state}; on demand also
// shown(on), when it comes and goes, receive(events), for news whether it is in view or not.

import { AlertsTab } from "./alerts.js";
import { ChartsTab } from "./charts.js";
import { CheckpointsTab } from "./checkpoints.js";
import { LogTab } from "./log.js";
import { MetricsTab } from "./metrics.js";
import { OverviewTab } from "./overview.js";
import { PanelsTab } from "./panels.js";

export function makeTabs(root, panels, sections) {
  return {
    overview: new OverviewTab(panels),
    collapse: new ChartsTab(panels, "collapse"),
    filter: new ChartsTab(panels, "filter"),
    panels: new PanelsTab(panels),
    metrics: new MetricsTab(panels, sections),
    config: { draw() {} }, // as the server wrote it
    log: new LogTab(root.dataset.log),
    checkpoints: new CheckpointsTab(),
    alerts: new AlertsTab(root.dataset.trajectories),
  };
}

export const WITH_CHARTS = ["overview", "collapse", "filter", "panels", "metrics"];
