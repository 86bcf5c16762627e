// Pause, resume, checkpoint, stop: which of them are possible now, and requesting them.

import { byId, findAll } from "../core/dom.js";
import { duration } from "../core/format.js";
import { postFields } from "../core/requests.js";
import { toast } from "../core/toast.js";

/** @import { RunState } from "../types.js" */
/** @typedef {Pick<RunState, "state" | "requested"> & { shown_as?: string }} Controlled */

const LIVE = ["starting", "running", "stalled", "lost"];

/** @type {Record<string, (run: Controlled) => boolean>} */
const ALLOWED = {
  pause: ({ state, requested }) => LIVE.includes(state) && requested === "run",
  resume: ({ state, requested }) =>
    (["paused", ...LIVE].includes(state) && requested === "pause") || ["stopped", "failed", "crashed"].includes(state),
  start_over: ({ shown_as }) => shown_as === "needs_attention",
  checkpoint: ({ state }) => ["running", "paused"].includes(state),
  stop: ({ state }) => ["queued", "paused", "stopping", ...LIVE].includes(state),
};

/**
 * Whether a run in this state accepts the action.
 * @param {string} action
 * @param {Controlled} run
 */
export const isAllowed = (action, run) => ALLOWED[action]?.(run) ?? false;

/** @type {Record<string, string>} what a button says until the server has answered */
const DOING = {
  pause: "Pausing …",
  resume: "Resuming …",
  checkpoint: "Saving …",
  stop: "Stopping …",
  start_over: "Starting over …",
};
/** @type {Record<string, string>} what nothing on the page shows until the engine has done it */
const ASKED = { checkpoint: "Requested: the engine saves a checkpoint before its next step." };
const MUCH_WORK = 600; // seconds of training

/**
 * What is trained since the newest checkpoint, and lost if the engine ends without another one.
 * @param {{ step: number, seconds: number }[]} steps
 * @param {{ step: number }[]} checkpoints
 */
export function unsaved(steps, checkpoints) {
  const saved = checkpoints.at(-1)?.step ?? 0;
  const before = steps.findLast((one) => one.step <= saved)?.seconds ?? 0;
  const last = steps.at(-1);
  return {
    saved,
    steps: Math.max(0, (last?.step ?? saved) - saved),
    seconds: Math.max(0, (last?.seconds ?? 0) - before),
  };
}

const buttons = () => findAll(document, "[data-control][type=button]", HTMLButtonElement);

/** @param {RunState} state */
export function showControls(state) {
  for (const button of buttons()) {
    const action = button.dataset.control ?? "";
    button.hidden = !isAllowed(action, state);
    if (action === "stop") button.textContent = state.state === "stopping" ? "Stop faster" : "Stop";
  }
}

/**
 * Whether the user agrees to lose what is not saved. A run that stops saves a checkpoint first, so only a second stop,
 * which ends its engine, asks.
 * @param {string} state
 * @param {ReturnType<typeof unsaved>} lost
 * @returns {Promise<boolean>}
 */
async function agreesToLose(state, lost) {
  if (state !== "stopping" || lost.seconds < MUCH_WORK) return true;
  const dialog = byId("stop-dialog", HTMLDialogElement);
  const steps = `${lost.steps} step${lost.steps === 1 ? "" : "s"}`;
  const since = lost.saved ? `the checkpoint of step ${lost.saved}` : "the start, and there is no checkpoint";
  byId("stop-loss").textContent =
    `The engine is saving a checkpoint. If it ends now, ${steps} are lost: ${duration(lost.seconds)} of training since ${since}.`;
  dialog.returnValue = "";
  dialog.showModal();
  await new Promise((resolve) => dialog.addEventListener("close", resolve, { once: true }));
  return dialog.returnValue === "stop";
}

/**
 * Requests an action of the run, and reports a refusal.
 * @param {string} address of the run's controls
 * @param {string} action
 * @param {string} unanswered what to report where the server does not answer
 * @returns {Promise<Partial<RunState> | undefined>} the run's new state
 */
export async function postAction(address, action, unanswered) {
  /** @type {{ error?: string, state?: Partial<RunState> }} */
  const { error, state } = await postFields(address, { action }, unanswered);
  if (error) toast(error, { error: true });
  else if (ASKED[action]) toast(ASKED[action]);
  return state;
}

/**
 * @param {string} address
 * @param {object} page
 * @param {() => string} page.state
 * @param {() => ReturnType<typeof unsaved>} page.lost
 * @param {(state: Partial<RunState>) => void} page.onState
 */
export function prepareControls(address, { state: stateNow, lost, onState }) {
  for (const button of buttons()) {
    button.addEventListener("click", async () => {
      const action = button.dataset.control ?? "";
      if (action === "stop" && !(await agreesToLose(stateNow(), lost()))) return;
      const before = button.textContent;
      button.disabled = true;
      button.textContent = DOING[action] ?? before;
      const state = await postAction(address, action, "The server did not answer. The run continues; try again.");
      button.textContent = before;
      button.disabled = false;
      if (state) onState(state);
    });
  }
}
