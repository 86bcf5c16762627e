// What is above the views: the run's state, its health with the numbers behind it, its usage, and its end.

import { byId, element, find, icon } from "../core/dom.js";
import { duration } from "../core/format.js";
import { label } from "../core/glossary.js";
import { showControls } from "./controls.js";

/** @import { HealthNumber, RunState } from "../types.js" */
/** @import { RunStore } from "./store.js" */

const LIVE = ["running", "paused", "stalled", "lost"];
const ENDED = ["stopped", "finished", "failed", "crashed"];
const WARNED = ["stalled", "lost", "restarting"];

/**
 * @param {RunState} state
 * @param {RunStore} store
 */
export function showState(state, store) {
  const chip = find(document, "#state-chip .chip");
  chip.className = `chip chip--${state.shown_as}`;
  chip.replaceChildren(icon(state.shown_as), element("span", {}, state.label));
  const step = store.steps.at(-1)?.step ?? state.step;
  byId("step").textContent = `${step}/${state.total_steps}`;
  byId("attempt").textContent = String(state.attempt);
  byId("eta").textContent = afterDot(eta(state, step, store.pace()));
  byId("usage").textContent = afterDot(state.usage?.text);
  const alerts = store.alerts.length + state.faults.length;
  byId("alert-count").textContent = alerts ? `(${alerts})` : "";
  document.title = `${step}/${state.total_steps} ${byId("run-name").textContent}`;
  showNotice(state);
  showControls(state);
}

/** @param {string | undefined} words */
const afterDot = (words) => (words ? ` · ${words}` : "");

/** @param {RunState} state */
function showNotice(state) {
  const notice = byId("notice");
  const words = [state.state === "queued" ? state.wait_reason : state.reason, state.remedy, stopProof(state)]
    .filter(Boolean)
    .join(" ");
  notice.hidden = !words || state.state === "running";
  notice.textContent = words;
  const kind = ["failed", "crashed"].includes(state.state) ? "error" : WARNED.includes(state.shown_as) ? "warn" : "";
  notice.className = `banner${kind && ` banner--${kind}`}`;
}

/**
 * @param {Pick<RunState, "state" | "seconds" | "total_steps">} state
 * @param {number} step
 * @param {number | null} pace seconds per step
 */
export function eta(state, step, pace) {
  if (!LIVE.includes(state.state)) return state.seconds ? `${duration(state.seconds)} of training` : "";
  return pace === null ? "ETA after the first step" : `ETA ${duration((state.total_steps - step) * pace)}`;
}

/** @param {RunState} state */
function stopProof(state) {
  const proof = state.stop_proof ?? {};
  if (!ENDED.includes(state.state)) return "";
  const gpus = proof.gpus ? `${proof.gpus}.` : "";
  if (!proof.proven) return gpus;
  const when = proof.time ? ` (${new Date(1000 * proof.time).toLocaleTimeString()})` : "";
  return [`No process of this run is left${when}.`, gpus, proof.cluster].filter(Boolean).join(" ");
}

/** @param {RunState} state */
export function showHealth(state) {
  const restarts = byId("restarts");
  restarts.hidden = !state.restarts;
  find(restarts, ":scope > :last-child").textContent = `${state.restarts} of ${state.restart_budget} restarts`;
  const { health } = state;
  if (!health) return;
  const chip = find(document, "#health-chip .chip");
  chip.className = `chip chip--${health.key}`;
  chip.replaceChildren(icon(health.icon), element("span", {}, health.word));
  byId("health-sentence").textContent = health.sentence;
  showNumbers(health.numbers);
}

/** @param {HealthNumber[]} numbers */
function showNumbers(numbers) {
  const signature = JSON.stringify(numbers);
  const rows = byId("health-numbers");
  byId("health-more").hidden = !numbers.length;
  if (rows.dataset.signature === signature) return; // a label that has the focus stays
  rows.dataset.signature = signature;
  rows.replaceChildren(
    ...numbers.map((one) =>
      element(
        "tr",
        {},
        element("td", {}, label(one.metric)),
        ...[one.first, one.now, one.best].map((text) => element("td", { class: "num" }, text)),
        element("td", {}, one.limit),
      ),
    ),
  );
}

export function prepareHealth() {
  const more = byId("health-more");
  more.addEventListener("click", () => {
    const open = more.getAttribute("aria-expanded") !== "true";
    more.setAttribute("aria-expanded", String(open));
    byId("health-table").hidden = !open;
  });
}
