// Pause, resume, checkpoint, stop: which of them are possible now, and requesting them.

import { findAll } from "../core/dom.js";
import { toast } from "../core/toast.js";

/** @import { RunState } from "../types.js" */
/** @typedef {Pick<RunState, "state" | "requested">} Controlled */

const LIVE = ["starting", "running", "stalled", "lost"];

/** @type {Record<string, (run: Controlled) => boolean>} */
const ALLOWED = {
  pause: ({ state, requested }) => LIVE.includes(state) && requested === "run",
  resume: ({ state, requested }) =>
    (["paused", ...LIVE].includes(state) && requested === "pause") || ["stopped", "failed", "crashed"].includes(state),
  checkpoint: ({ state }) => ["running", "paused"].includes(state),
  stop: ({ state }) => ["queued", "paused", "stopping", ...LIVE].includes(state),
};

/**
 * Whether a run in this state accepts the action.
 * @param {string} action
 * @param {Controlled} run
 */
export const isAllowed = (action, run) => ALLOWED[action]?.(run) ?? false;

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
 * @param {string} address
 * @param {(state: Partial<RunState>) => void} onState
 */
export function prepareControls(address, onState) {
  for (const button of buttons()) {
    button.addEventListener("click", async () => {
      button.disabled = true;
      try {
        const answer = await fetch(address, {
          method: "POST",
          headers: { Accept: "application/json", "X-CSRFToken": csrfToken() },
          body: new URLSearchParams({ action: button.dataset.control ?? "" }),
        });
        /** @type {{ error?: string, state?: Partial<RunState> }} */
        const { error, state } = await answer.json();
        if (error) toast(error, { error: true });
        if (state) onState(state);
      } catch {
        toast("The server did not answer. The run continues; try again.", { error: true });
      }
      button.disabled = false;
    });
  }
}

export function csrfToken() {
  const [field] = findAll(document, "input[name=csrfmiddlewaretoken]", HTMLInputElement);
  return field?.value ?? "";
}
