// The head of a run's page: its state, its verdict with the evidence, its usage, and how it ended. A reason is there
// once: of a failure beside what to do next.

import { byId, element, find, icon } from "../core/dom.js";
import { duration } from "../core/format.js";
import { label } from "../core/glossary.js";
import { showText, visibleString } from "../core/visible_text.js";
import { showControls } from "./controls.js";
import { hasEnded } from "./states.js";

/** @import { Evidence, RunState, Status, Verdict } from "../types.js" */
/** @import { RunStore } from "./store.js" */

const LIVE = ["running", "paused", "stalled", "lost"];

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
  const inAll = document.getElementById("lineage-step");
  if (inAll) inAll.textContent = String(state.ancestor_steps + step);
  byId("attempt").textContent = String(state.attempt);
  byId("eta").textContent = afterDot(eta(state, step, store.pace()));
  byId("usage").textContent = afterDot(state.usage?.text);
  const alerts = store.alerts.length + state.faults.length;
  byId("alert-count").textContent = alerts ? `(${alerts})` : "";
  document.title = `${step}/${state.total_steps} ${byId("run-name").textContent}`;
  showNotice(state);
  showAttention(state);
  showControls(state);
}

/** @param {RunState} state */
function showAttention(state) {
  const panel = document.getElementById("needs-attention"); // of runs that are trained here
  if (!panel) return;
  panel.hidden = state.shown_as !== "needs_attention";
  if (!panel.hidden) showText(byId("attention-reason"), state.reason);
}

/** @param {string | undefined} words */
const afterDot = (words) => (words ? ` · ${words}` : "");

/**
 * Whatever the line of the verdict does not say yet: of a run that needs attention what to do, of others how they ended.
 * @param {RunState} state
 */
function showNotice(state) {
  const notice = byId("notice");
  const words = noticeOf(state);
  notice.hidden = !words;
  notice.title = visibleString(words);
  showText(notice, words);
  byId("unheld").hidden = !state.unheld;
  byId("verdict-live").hidden = hasEnded(state.state);
  const line = byId("run-line");
  line.title = (line.textContent ?? "").replace(/\s+/g, " ").trim(); // one line on the screen
}

/** @param {Pick<RunState, "state" | "reason" | "remedy" | "wait_reason" | "stop_proof" | "status">} state */
export function noticeOf(state) {
  if (state.state === "running") return "";
  const reason = state.state === "queued" ? state.wait_reason : state.reason;
  const said = reason === state.status?.reason;
  return [said ? "" : reason, state.remedy, stopProof(state)].filter(Boolean).join(" ");
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

/** @param {Pick<RunState, "state" | "stop_proof">} state */
function stopProof(state) {
  const proof = state.stop_proof ?? {};
  if (!hasEnded(state.state)) return "";
  const gpus = proof.gpus ? `${proof.gpus}.` : "";
  if (!proof.proven) return gpus;
  const when = proof.time ? ` (${new Date(1000 * proof.time).toLocaleTimeString()})` : "";
  return [`No process of this run is left${when}.`, gpus, proof.cluster].filter(Boolean).join(" ");
}

/** @param {RunState} state */
export function showVerdict(state) {
  const restarts = byId("restarts");
  restarts.hidden = !state.restarts;
  find(restarts, ":scope > :last-child").textContent = `${state.restarts} of ${state.restart_budget} restarts`;
  const { status, verdict } = state;
  if (!status) return;
  const chip = find(document, "#verdict-chip .chip");
  chip.className = `chip chip--${status.key}`;
  chip.replaceChildren(icon(status.icon), element("span", {}, status.label));
  byId("verdict-chip").hidden = !status.summary || includes(state.label, status.label);
  const row = byId("verdict");
  row.dataset.level = status.key;
  row.toggleAttribute("data-of-state", !status.summary);
  showText(byId("verdict-reason"), status.reason);
  for (const id of ["verdict-summary", "verdict-numbers"]) showText(byId(id), status.summary);
  byId("verdict-log").hidden = status.key !== "failed";
  showAlert(status);
  byId("verdict-more").hidden = !verdict;
  if (verdict) showEvidence(verdict);
}

/**
 * whether one label says another: "Finished · collapsed" and "Collapsed"
 * @param {string} words
 * @param {string} other
 */
const includes = (words, other) => words.toLowerCase().includes(other.toLowerCase());

/** @param {Status} status */
function showAlert({ alert }) {
  const link = byId("verdict-alert", HTMLAnchorElement);
  link.hidden = alert === null;
  if (alert !== null) link.href = `${link.dataset.alerts}${alert}/`;
}

/** @param {Verdict} verdict */
function showEvidence({ evidence, rules_version: version, step }) {
  const installed = Number(byId("verdict-rules").dataset.installed);
  const newer =
    version < installed ? ` Rules ${installed} are installed: python manage.py assess_runs applies them.` : "";
  byId("verdict-rules").textContent = `Assessed by rules ${version} after step ${step}.${newer}`;
  const signature = JSON.stringify(evidence);
  const rows = byId("verdict-rows");
  if (rows.dataset.signature === signature) return; // a label that has the focus stays
  rows.dataset.signature = signature;
  rows.replaceChildren(...evidence.map(evidenceRow));
}

/** @param {Evidence} row */
function evidenceRow({ metric, first, now, best, low, high, limit }) {
  const interval = low === null || high === null ? "" : ` [${low.toFixed(2)}, ${high.toFixed(2)}]`;
  const numbers = [first.toFixed(2), now.toFixed(2) + interval, best.toFixed(2)];
  return element(
    "tr",
    {},
    element("td", {}, label(metric)),
    ...numbers.map((text) => element("td", { class: "num" }, text)),
    element("td", {}, limit),
  );
}

export function prepareVerdict() {
  const more = byId("verdict-more");
  more.addEventListener("click", () => {
    const open = more.getAttribute("aria-expanded") !== "true";
    more.setAttribute("aria-expanded", String(open));
    byId("verdict").toggleAttribute("data-open", open);
    byId("verdict-evidence").hidden = !open;
  });
}
