// Pause, resume, checkpoint, stop: which of them make sense now, and asking for them.

import { toast } from "../core/toast.js";

const LIVE = ["starting", "running", "stalled", "lost"];
const ALLOWED = {
  pause: (state) => LIVE.includes(state.state) && state.requested === "run",
  resume: (state) =>
    (["paused", ...LIVE].includes(state.state) && state.requested === "pause") ||
    ["stopped", "failed", "crashed"].includes(state.state),
  checkpoint: (state) => ["running", "paused"].includes(state.state),
  stop: (state) => ["queued", "paused", "stopping", ...LIVE].includes(state.state),
};

export function showControls(state) {
  for (const button of document.querySelectorAll("[data-control][type=button]")) {
    const action = button.dataset.control;
    button.hidden = !ALLOWED[action](state);
    if (action === "stop") button.textContent = state.state === "stopping" ? "Stop faster" : "Stop";
  }
}

export function prepareControls(address, onState) {
  for (const button of document.querySelectorAll("[data-control][type=button]")) {
    button.addEventListener("click", async () => {
      button.disabled = true;
      try {
        const answer = await fetch(address, {
          method: "POST",
          headers: { Accept: "application/json", "X-CSRFToken": token() },
          body: new URLSearchParams({ action: button.dataset.control }),
        });
        const told = await answer.json();
        if (told.error) toast(told.error, { error: true });
        if (told.state) onState(told.state);
      } catch {
        toast("The server did not answer. The run goes on; try again.", { error: true });
      }
      button.disabled = false;
    });
  }
}

export function token() {
  return document.querySelector("input[name=csrfmiddlewaretoken]")?.value ?? "";
}
