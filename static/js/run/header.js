// What stands above the views: the run's state, its health with the numbers behind it, what it used, and its end.

import { element, icon } from "../core/dom.js";
import { duration } from "../core/format.js";
import { label } from "../core/glossary.js";
import { showControls } from "./controls.js";

const LIVE = ["running", "paused", "stalled", "lost"];
const WARNED = ["stalled", "lost", "restarting"];
const byId = (id) => document.getElementById(id);

export function showState(state, store) {
  const chip = document.querySelector("#state-chip .chip");
  chip.className = `chip chip--${state.shown_as}`;
  chip.replaceChildren(icon(state.shown_as), element("span", {}, state.label));
  const step = store.steps.at(-1)?.step ?? state.step;
  byId("step").textContent = `${step}/${state.total_steps}`;
  byId("attempt").textContent = state.attempt;
  byId("eta").textContent = behindADot(eta(state, step, store.pace()));
  byId("usage").textContent = behindADot(state.usage?.words);
  const alerts = store.alerts.length + state.faults.length;
  byId("alert-count").textContent = alerts ? `(${alerts})` : "";
  document.title = `${step}/${state.total_steps} ${byId("run-name").textContent}`;
  showNotice(state);
  showControls(state);
}

const behindADot = (words) => (words ? ` · ${words}` : "");

function showNotice(state) {
  const notice = byId("notice");
  const words = [state.state === "queued" ? state.wait_reason : state.reason, state.remedy, proof(state)]
    .filter(Boolean)
    .join(" ");
  notice.hidden = !words || state.state === "running";
  notice.textContent = words;
  const kind = ["failed", "crashed"].includes(state.state) ? "error" : WARNED.includes(state.shown_as) ? "warn" : "";
  notice.className = `banner${kind && ` banner--${kind}`}`;
}

export function eta(state, step, pace) {
  if (!LIVE.includes(state.state)) return state.seconds ? `${duration(state.seconds)} of training` : "";
  return pace === null ? "ETA after the first step" : `ETA ${duration((state.total_steps - step) * pace)}`;
}

function proof(state) {
  const told = state.stop_proof ?? {};
  if (!["stopped", "finished", "failed", "crashed"].includes(state.state)) return "";
  const gpus = told.gpus ? `${told.gpus}.` : "";
  if (!told.proven) return gpus;
  const when = told.time ? ` (${new Date(1000 * told.time).toLocaleTimeString()})` : "";
  return [`No process of this run is left${when}.`, gpus, told.cluster].filter(Boolean).join(" ");
}

export function showHealth(state) {
  const restarts = byId("restarts");
  restarts.hidden = !state.restarts;
  restarts.lastElementChild.textContent = `${state.restarts} of ${state.restart_budget} restarts`;
  const { health } = state;
  if (!health) return;
  const chip = document.querySelector("#health-chip .chip");
  chip.className = `chip chip--${health.key}`;
  chip.replaceChildren(icon(health.icon), element("span", {}, health.word));
  byId("health-sentence").textContent = health.sentence;
  showNumbers(health.numbers);
}

function showNumbers(numbers) {
  const said = JSON.stringify(numbers);
  const rows = byId("health-numbers");
  byId("health-more").hidden = !numbers.length;
  if (rows.dataset.said === said) return; // a label that has the focus stays
  rows.dataset.said = said;
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

