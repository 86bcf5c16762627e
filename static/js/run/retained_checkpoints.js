// Which checkpoints of a run still exist, as its engine reported with the newest one, and what each achieved.

/** @import { HeldOutResult } from "../types.js" */

/**
 * @typedef {object} Saved
 * @property {number} step
 * @property {number[]} [kept] steps of all that were on disk after it was saved; none if that is not known
 * @property {number | null} [best] of them the one with the highest held-out success
 */

/**
 * The steps of the checkpoints that exist, newest first.
 * @param {Saved[]} checkpoints in the order in which they were saved
 */
export function retainedSteps(checkpoints) {
  const steps = [...new Set(checkpoints.map((one) => one.step))].sort((one, other) => other - one);
  const kept = checkpoints.at(-1)?.kept ?? [];
  return kept.length ? steps.filter((step) => kept.includes(step)) : steps;
}

/**
 * The newest one before `step`, to fork from when that step went wrong; null where none is left.
 * @param {Saved[]} checkpoints
 * @param {number} step
 */
export const lastBefore = (checkpoints, step) => retainedSteps(checkpoints).find((one) => one < step) ?? null;

/**
 * The step of the best by held-out success; null before the first evaluation.
 * @param {Saved[]} checkpoints
 */
export const bestOf = (checkpoints) => checkpoints.at(-1)?.best ?? null;

/**
 * What can be said of that step: nothing is the best of one, and a run that lost success may have none that is better
 * than what it started from. Below is where the 95% interval of the difference ends below 0 (Newcombe, of the intervals
 * of both), in every environment.
 * @param {{ checkpoints: { step: number }[], evaluations: HeldOutResult[], requestedEvaluations: HeldOutResult[] }} store
 * @param {number} best
 * @returns {"best" | "alone" | "below"}
 */
export function standingOf(store, best) {
  const evaluated = new Set(store.checkpoints.map((one) => one.step).filter((step) => heldOutOf(store, step).length));
  const start = new Map(heldOutOf(store, 0).map((one) => [one.environment, one]));
  const results = heldOutOf(store, best);
  const isBelow = results.every((one) => {
    const first = start.get(one.environment);
    return first && one.success - first.success + Math.hypot(one.high - one.success, first.success - first.low) < 0;
  });
  if (results.length && isBelow) return "below";
  return evaluated.size > 1 ? "best" : "alone";
}

/**
 * Those that exist only because they precede a sign of trouble: neither among the newest nor the best.
 * @param {Saved[]} checkpoints
 * @param {number} newest how many of the newest are kept
 */
export function keptForRescue(checkpoints, newest) {
  const reported = (checkpoints.at(-1)?.kept ?? []).length > 0;
  const older = retainedSteps(checkpoints).slice(newest);
  return reported ? older.filter((step) => step !== bestOf(checkpoints)) : [];
}

/**
 * The held-out results of a step, one for each environment: where it was evaluated on request, the newest of these.
 * @param {{ evaluations: HeldOutResult[], requestedEvaluations: HeldOutResult[] }} store
 * @param {number} step
 */
export function heldOutOf({ evaluations, requestedEvaluations }, step) {
  /** @type {Map<string, HeldOutResult>} */
  const found = new Map();
  for (const one of [...evaluations, ...requestedEvaluations]) if (one.step === step) found.set(one.environment, one);
  return [...found.values()];
}
