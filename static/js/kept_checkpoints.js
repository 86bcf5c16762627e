// Which checkpoints of a run are still there: the engine keeps so many of the highest steps.

/** The steps that are left of `checkpoints`, newest first. */
export function keptSteps(checkpoints, keep) {
  const steps = [...new Set(checkpoints.map((one) => one.step))];
  return steps.sort((one, other) => other - one).slice(0, keep);
}

/** The newest one before `step`, to fork from when that step went wrong; null where none is left. */
export function lastBefore(checkpoints, keep, step) {
  return keptSteps(checkpoints, keep).find((one) => one < step) ?? null;
}
