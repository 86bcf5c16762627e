// Groups of the states of a run, as webapp/runs/states.py has them.

const ENDED = new Set(["finished", "stopped", "failed", "crashed"]);
const CHANGEABLE = new Set(["queued", "starting", "running", "paused", "stalled", "lost"]);

/** @param {string} state */
export const hasEnded = (state) => ENDED.has(state);

/**
 * Whether the settings and rules of a run in this state can be changed.
 * @param {string} state
 */
export const isChangeable = (state) => CHANGEABLE.has(state);
