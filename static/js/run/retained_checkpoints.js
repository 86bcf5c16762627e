// Which checkpoints of a run still exist: the engine keeps a number of the newest, and for a fork that a rule requested,
// the last one before the step at which the problem began.

/**
 * @typedef {object} Retention
 * @property {{ step: number }[]} checkpoints
 * @property {number} keep how many of the newest are kept
 * @property {number | null} forkBefore null if no rule requested a fork
 */

/**
 * @param {Pick<Retention, "checkpoints" | "forkBefore">} store
 * @param {number} keep
 * @returns {Retention}
 */
export const retentionOf = (store, keep) => ({ checkpoints: store.checkpoints, keep, forkBefore: store.forkBefore });

/**
 * The steps of the checkpoints that exist, newest first.
 * @param {Retention} retention
 */
export function retainedSteps(retention) {
  const spared = stepKeptForFork(retention);
  return stepsOf(retention).filter((step, index) => index < retention.keep || step === spared);
}

/**
 * The step whose checkpoint is kept for a fork alone; null where there is none. The checkpoint at the end of the run,
 * which was saved after the fork was requested, would have pushed it out: one that is older was removed before.
 * @param {Retention} retention
 */
export function stepKeptForFork({ checkpoints, keep, forkBefore }) {
  if (forkBefore === null) return null;
  const steps = stepsOf({ checkpoints });
  return steps.findIndex((step) => step < forkBefore) === keep ? steps[keep] : null;
}

/**
 * The newest one before `step`, to fork from when that step went wrong; null where none is left.
 * @param {Retention} retention
 * @param {number} step
 */
export function lastBefore(retention, step) {
  return retainedSteps(retention).find((one) => one < step) ?? null;
}

/** @param {Pick<Retention, "checkpoints">} retention */
const stepsOf = ({ checkpoints }) => [...new Set(checkpoints.map((one) => one.step))].sort((one, other) => other - one);
