// Every view of the run page by its key: see `Tab` in types.d.ts.

import { jsonOf } from "../../core/dom.js";
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
import { FullHistory } from "./full_history.js";

/** @import { Facts } from "../../types.js" */
/** @import { Panels } from "../panels.js" */
/** @import { RunView } from "../view_state.js" */

// the metrics that a view reads at every step, and for what is measured every few steps, those that show where it was
const COLLAPSE =
  /^(collapse\/(first_turns|first_turns_valid|valid_thought_rate|conditional_entropy|conditional_entropy_token|mi_ratio|mi_sequence|mi_ceiling|samples|prompts|retrieval_above_chance|retrieval_chance|template_share)|gradient\/all\/task|gradient\/bucket_\d+\/(reward_std|task|entropy|kl|regularizer_share))$/;
const DIAGNOSED = ["collapse/first_turns", "collapse/mi_ratio", "collapse/template_share", "gradient/all/task"];
const FILTER = /^(filter\/(kept_ratio|threshold)|reward\/within_group_std|rollout\/zero_variance_share)$/;
const ROLLOUTS = /^(rollout\/|env\/.*\/(invalid_action_rate|turns_used)$)/s;

/**
 * @param {HTMLElement} root
 * @param {Panels} panels
 * @param {{ key: string, title: string }[]} sections
 * @param {RunView} view
 */
export function makeTabs(root, panels, sections, view) {
  /** @type {Facts} */
  const facts = jsonOf("watching");
  return {
    overview: new OverviewTab(panels),
    collapse: new FullHistory(new CollapseTab(panels, root.dataset, facts, view), COLLAPSE, DIAGNOSED),
    filter: new FullHistory(new FilterTab(panels, root.dataset, facts, view), FILTER),
    rollouts: new FullHistory(new RolloutsTab(panels, root.dataset, facts, view), ROLLOUTS),
    panels: new PanelsTab(panels),
    metrics: new MetricsTab(panels, sections),
    config: new ConfigTab(),
    log: new LogTab(root.dataset.log ?? ""),
    checkpoints: new CheckpointsTab(),
    control: new ControlTab(),
    alerts: new AlertsTab(root.dataset.trajectories ?? ""),
  };
}

export const WITH_CHARTS = ["overview", "collapse", "filter", "rollouts", "panels", "metrics"];
