// A run that ended before its first step: said once in the place of all its charts.

import { byId, findAll } from "../core/dom.js";
import { hasEnded } from "./states.js";

/** @import { RunState } from "../types.js" */

/**
 * @param {Pick<RunState, "state">} state
 * @param {{ isLoaded: boolean, keys: Set<string> }} store
 * @param {string} tab the view with charts that is shown; empty for another
 */
export function showWhetherEmpty(state, store, tab) {
  const empty = Boolean(tab) && hasEnded(state.state) && store.isLoaded && !store.keys.size;
  byId("no-data").hidden = !empty;
  byId("no-data-why").textContent = `The run ${ENDED[state.state] ?? "ended"} before its first step.`;
  for (const view of findAll(document, "[role=tabpanel]")) {
    view.classList.toggle("tab-empty", empty && view.id === `view-${tab}`);
  }
  byId("chart-tools").hidden = !tab || empty;
}

/** @type {Record<string, string>} */
const ENDED = { failed: "failed", crashed: "crashed", stopped: "was stopped" };
