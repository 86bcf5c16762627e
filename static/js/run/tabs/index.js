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
import { WithHistory } from "./full_history.js";

// the metrics whose whole history a view looks at, and for what is measured every few steps those that say where
const COLLAPSE =
  /^(collapse\/(first_turns|first_turns_valid|valid_thought_rate|conditional_entropy|conditional_entropy_token|mi_ratio|mi_sequence|mi_ceiling|samples|prompts|retrieval_above_chance|retrieval_chance|template_share)|gradient\/all\/task|gradient\/bucket_\d+\/(reward_std|task|entropy|kl|regularizer_share))$/;
const DIAGNOSED = ["collapse/first_turns", "collapse/mi_ratio", "collapse/template_share", "gradient/all/task"];
const FILTER = /^(filter\/(kept_ratio|threshold)|reward\/in_group_std|rollout\/zero_variance_share)$/;
const ROLLOUTS = /^(rollout\/|env\/.*\/(invalid_action_rate|turns_used)$)/s;

export function makeTabs(root, panels, sections, view) {
  const facts = JSON.parse(document.getElementById("watching").textContent);
  return {
    overview: new OverviewTab(panels),
    collapse: new WithHistory(new CollapseTab(panels, root.dataset, facts, view), COLLAPSE, DIAGNOSED),
    filter: new WithHistory(new FilterTab(panels, root.dataset, facts, view), FILTER),
    rollouts: new WithHistory(new RolloutsTab(panels, root.dataset, facts, view), ROLLOUTS),
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
