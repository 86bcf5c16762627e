// Which checkpoints of a run are still there: the engine keeps so many of the highest steps, and for a fork that a rule
// asked for the newest before the step at which the trouble began.

/** `held` of a store: `{checkpoints, keep, forkBefore}`, `forkBefore` null where no rule asked for a fork. */
export const heldBy = (store, keep) => ({ checkpoints: store.checkpoints, keep, forkBefore: store.forkBefore });

/** The steps that are left, newest first. */
export function keptSteps(held) {
  const steps = stepsOf(held);
  return steps.filter((step, place) => place < held.keep || step === sparedStep(held));
}

/**
 * The step whose checkpoint is there for a fork alone; null where there is none. The end of the run, which was saved once
 * the fork had been asked for, would have cost it its place: one that is older was gone before.
 */
export function sparedStep({ checkpoints, keep, forkBefore }) {
  if (forkBefore === null) return null;
  const steps = stepsOf({ checkpoints });
  return steps.findIndex((step) => step < forkBefore) === keep ? steps[keep] : null;
}

/** The newest one before `step`, to fork from when that step went wrong; null where none is left. */
export function lastBefore(held, step) {
  return keptSteps(held).find((one) => one < step) ?? null;
}

const stepsOf = ({ checkpoints }) => [...new Set(checkpoints.map((one) => one.step))].sort((one, other) => other - one);
