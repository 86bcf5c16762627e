// Every view of the run page by its key. A view has draw(page), with page = {store, view, state}; on demand also
// shown(on), when it comes and goes, receive(events), for news whether it is in view or not.

import { AlertsTab } from "./alerts.js";
import { CheckpointsTab } from "./checkpoints.js";
import { CollapseTab } from "./collapse.js";
import { FilterTab } from "./filter.js";
import { ConfigTab } from "./config.js";
import { ControlTab } from "./control.js";
import { LogTab } from "./log.js";
import { MetricsTab } from "./metrics.js";
import { OverviewTab } from "./overview.js";
import { PanelsTab } from "./panels.js";
import { RolloutsTab } from "./rollouts.js";
import { WithHistory } from "./with_history.js";

// the metrics whose whole history a view looks at
const COLLAPSE = /^(collapse|gradient)\//;
const FILTER = /^(filter\/(kept_ratio|threshold)|reward\/in_group_std|rollout\/zero_variance_share)$/;
const ROLLOUTS = /^(rollout\/|env\/.*\/(invalid_action_rate|turns_used)$)/s;

export function makeTabs(root, panels, sections) {
  const facts = JSON.parse(document.getElementById("watching").textContent);
  return {
    overview: new OverviewTab(panels),
    collapse: new WithHistory(new CollapseTab(panels, root.dataset, facts), COLLAPSE),
    filter: new WithHistory(new FilterTab(panels, root.dataset, facts), FILTER),
    rollouts: new WithHistory(new RolloutsTab(panels, root.dataset, facts), ROLLOUTS),
    panels: new PanelsTab(panels),
    metrics: new MetricsTab(panels, sections),
    config: new ConfigTab(),
    log: new LogTab(root.dataset.log),
    checkpoints: new CheckpointsTab(),
    control: new ControlTab(),
    alerts: new AlertsTab(root.dataset.trajectories),
  };
}

export const WITH_CHARTS = ["overview", "collapse", "filter", "rollouts", "panels", "metrics"];
