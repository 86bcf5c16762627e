// Why something that is measured every few steps has no data: not measured yet and when it is due, switched off, or not
// applicable to this run. `facts` are the run's settings as the page has them.

import { hasEnded } from "./states.js";

/** @import { Facts, RunState, StepRow } from "../types.js" */

/** @typedef {{ kind: "none" | "off" | "waiting", text: string }} EmptyState */
/** @typedef {Pick<RunState, "state" | "total_steps">} Ending */

/**
 * The next step at which something is measured that is due at 1, 1 + every, 1 + 2 every, …
 * @param {number} every
 * @param {number} lastStep
 */
export function nextDue(every, lastStep) {
  return lastStep < 1 ? 1 : 1 + every * Math.ceil(lastStep / every);
}

/**
 * `store` has the steps at which something was measured, and the last step of the run
 * @param {Facts} facts
 * @param {Ending} state
 * @param {{ steps: StepRow[], last: number }} store
 * @returns {EmptyState}
 */
export function whyNoEstimate(facts, state, store) {
  if (!facts.think) {
    return none(
      "Not applicable: this run has no thoughts (rollout.think is false), so there is no reasoning to diagnose.",
    );
  }
  if (!facts.every) {
    return off(
      "Diagnostics are off in this run (diagnostics.every = 0). Clone it with 5 to have them every five steps.",
    );
  }
  if (facts.groups < 2) {
    return none(
      "Not applicable: a step of this run has one problem (rollout.groups = 1). Thoughts must be contrasted under two prompts or more.",
    );
  }
  const tried = store.steps.findLast((one) => one.metrics["collapse/first_turns"] !== undefined);
  if (tried && tried.metrics["collapse/mi_ratio"] === undefined) {
    const { "collapse/first_turns_valid": valid, "collapse/first_turns": all } = tried.metrics;
    return waiting(
      `At step ${tried.step} there was nothing to contrast: ${valid} of ${all} first turns had a thought.`,
    );
  }
  return waiting(whenDue(facts.every, state, store.last, "Diagnostics"));
}

/**
 * @param {Facts} facts
 * @param {Ending} state
 * @param {{ last: number }} options
 * @returns {EmptyState}
 */
export function whyNoGradients(facts, state, { last }) {
  if (!facts.gradientsEvery) {
    return off(
      "Off in this run (diagnostics.gradients_every = 0). Clone it with 10 to have one every ten steps; each costs about as much as an update for each part of the loss. For a checkpoint of this run: python -m engine probe.",
    );
  }
  return waiting(whenDue(facts.gradientsEvery, state, last, "The decomposition"));
}

/**
 * @param {Facts} facts
 * @param {Ending} state
 * @param {{ last: number }} options
 * @returns {EmptyState}
 */
export function whyNoTemplates(facts, state, { last }) {
  if (!facts.think) return none("Not applicable: this run has no thoughts (rollout.think is false).");
  if (!facts.every) return off("Diagnostics are off in this run (diagnostics.every = 0).");
  if (!facts.templateSimilarity) {
    return off("Template detection is off in this run (diagnostics.template_similarity = 0). Clone it with 0.92.");
  }
  return waiting(whenDue(facts.every, state, last, "They"));
}

/**
 * @param {number} every
 * @param {Ending} state
 * @param {number} last
 * @param {string} what
 */
function whenDue(every, state, last, what) {
  const due = nextDue(every, last);
  const often = every === 1 ? "every step" : `every ${every} steps`;
  const plural = what === "The decomposition" ? "comes" : "come";
  if (hasEnded(state.state) || due > state.total_steps) {
    return `None: the run ended at step ${last}. ${what} ${plural} ${often}, from step 1 on.`;
  }
  return `No data yet. ${what} ${plural} ${often}; the next at step ${due}.`;
}

/**
 * @param {string} text
 * @returns {EmptyState}
 */
const none = (text) => ({ kind: "none", text });
/**
 * @param {string} text
 * @returns {EmptyState}
 */
const off = (text) => ({ kind: "off", text });
/**
 * @param {string} text
 * @returns {EmptyState}
 */
const waiting = (text) => ({ kind: "waiting", text });
