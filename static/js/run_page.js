// The run page: history first, then the socket; draws what is in view and nothing that nobody looks at.

import { element, icon } from "./dom.js";
import { ago, bytes, duration } from "./format.js";
import { Lag } from "./lag.js";
import { LiveSocket } from "./live_socket.js";
import { drawPhases } from "./phase_strip.js";
import { alertRows } from "./run_alerts.js";
import { prepareControls, showControls } from "./run_controls.js";
import { judge } from "./run_health.js";
import { LogView } from "./run_log.js";
import { Panels } from "./run_panels.js";
import { RunStore } from "./run_store.js";

const root = document.getElementById("run");
const read = (id) => JSON.parse(document.getElementById(id).textContent);
const tags = read("tags");
const HEALTH_ICONS = { converged: "finished", "at-risk": "alert", dead: "crashed", "broken-format": "alert" };
const store = new RunStore();
const address = new URL(location.href);
const AXES = ["step", "tokens", "seconds", "time"];
const view = {
  axis: oneOf(AXES, address.searchParams.get("x")),
  smoothing: share(address.searchParams.get("smoothing"), 0.6),
  revision: 0,
  tab: address.hash.slice(1) || "overview",
};
const panels = new Panels(read("panels"), tags, openStep);
const lag = new Lag(document.getElementById("lag"));
const log = new LogView(root.dataset.log);
let state = read("live-state");
let waiting = []; // times of events that are not on the screen yet
let asked = false; // a drawing is under way
let again = false; // and another is due after it
let socket = null;

// what the address says, if it makes sense
function oneOf(choices, word) {
  return choices.includes(word) ? word : choices[0];
}
function share(text, otherwise) {
  return text !== null && Number(text) >= 0 && Number(text) < 1 ? Number(text) : otherwise;
}

function openStep(step) {
  location.assign(`${root.dataset.trajectories}?step=${step}`);
}

// One drawing at a time: what comes meanwhile waits for the next one.
function askToDraw() {
  again = true;
  if (asked || document.hidden) return;
  asked = true;
  requestAnimationFrame(async () => {
    const times = waiting;
    waiting = [];
    again = false;
    try {
      await draw();
    } finally {
      asked = false;
    }
    requestAnimationFrame(() => times.forEach((time) => lag.drawn(time, socket?.offset ?? 0)));
    if (again) askToDraw();
  });
}

async function draw() {
  showState();
  showHealth();
  await Promise.all(panels.of(view.tab, store).map((chart) => chart.draw(store, view)));
  drawPhases(document.getElementById("phases"), document.getElementById("phase-key"), store.steps);
  showLists();
}

function showState() {
  const chip = document.querySelector("#state-chip .chip");
  chip.className = `chip chip--${state.shown_as}`;
  chip.replaceChildren(icon(state.shown_as), element("span", {}, state.label));
  const step = store.steps.at(-1)?.step ?? state.step;
  document.getElementById("step").textContent = `${step}/${state.total_steps}`;
  document.getElementById("attempt").textContent = state.attempt;
  document.getElementById("eta").textContent = eta(step);
  document.getElementById("phase").textContent =
    store.phase && state.state === "running" ? `now: ${store.phase.phase}` : "";
  document.title = `${step}/${state.total_steps} ${document.getElementById("run-name").textContent}`;
  const notice = document.getElementById("notice");
  const words = [state.state === "queued" ? state.wait_reason : state.reason, state.remedy, proof()]
    .filter(Boolean)
    .join(" ");
  notice.hidden = !words || state.state === "running";
  notice.textContent = words;
  notice.className = `banner${["failed", "crashed"].includes(state.state) ? " banner--error" : ["stalled", "lost", "restarting"].includes(state.shown_as) ? " banner--warn" : ""}`;
  showControls(state);
}

function eta(step) {
  if (!["running", "paused", "stalled", "lost"].includes(state.state))
    return state.seconds ? `${duration(state.seconds)} of training` : "";
  const last = store.steps.at(-1);
  return last ? `ETA ${duration(((state.total_steps - step) * last.seconds) / last.step)}` : "ETA after the first step";
}

function proof() {
  const told = state.stop_proof ?? {};
  if (!["stopped", "finished", "failed", "crashed"].includes(state.state) || !told.proven) return "";
  const when = told.time ? ` (${new Date(1000 * told.time).toLocaleTimeString()})` : "";
  return `No process of this run is left${when}.`;
}

function showHealth() {
  const [key, word, text] = judge(
    state,
    store.steps,
    store.alerts,
    store.evaluations.filter((one) => one.environment === tags[0]),
  );
  const chip = document.querySelector("#health-chip .chip");
  chip.className = `chip chip--${key}`;
  chip.replaceChildren(icon(HEALTH_ICONS[key] ?? key), element("span", {}, word));
  document.getElementById("health-sentence").textContent = text;
  const restarts = document.getElementById("restarts");
  restarts.hidden = !state.restarts;
  restarts.lastElementChild.textContent = `${state.restarts} of ${state.restart_budget} restarts`;
}

function showLists() {
  const alerts = store.alerts.length + state.faults.length;
  document.getElementById("alert-count").textContent = alerts ? `(${alerts})` : "";
  if (view.tab === "alerts" && alerts)
    document
      .getElementById("alerts")
      .replaceChildren(...alertRows(store.alerts, state.faults, root.dataset.trajectories));
  if (view.tab === "checkpoints") {
    const rows = store.checkpoints
      .toReversed()
      .map((one) =>
        element(
          "tr",
          {},
          element("td", { class: "num" }, String(one.step)),
          element("td", {}, one.reason),
          element("td", { class: "num" }, bytes(one.bytes)),
          element("td", {}, ago(one.time)),
          element("td", { class: "mono" }, one.path),
        ),
      );
    document
      .getElementById("checkpoints")
      .replaceChildren(
        ...(rows.length
          ? rows
          : [
              element(
                "tr",
                {},
                element("td", { colspan: 5, class: "muted" }, "None yet. Ask for one with Checkpoint."),
              ),
            ]),
      );
  }
}

function receive(events) {
  const fresh = store.add(events);
  waiting.push(...fresh.filter((event) => event.kind === "step_completed").map((event) => event.time));
  if (fresh.some((event) => event.kind === "trajectories_recorded" && event.split === "train")) refreshLatest();
  askToDraw();
}

let latestTimer = 0;
function refreshLatest() {
  clearTimeout(latestTimer);
  latestTimer = setTimeout(async () => {
    const list = document.getElementById("latest");
    const answer = await fetch(list.dataset.latest).catch(() => null);
    if (!answer?.ok || answer.redirected) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    list.replaceChildren(...[...page.querySelectorAll("li")].map((row) => document.adoptNode(row)));
  }, 1500);
}

async function catchUp() {
  try {
    for (let more = true; more;) {
      const answer = await fetch(`/api/v1/runs/${root.dataset.run}/events?after=${store.lastSeq}&limit=2000`);
      if (!answer.ok) return false;
      const page = await answer.json();
      store.add(page.events);
      more = page.more;
    }
    askToDraw();
    return true;
  } catch {
    return false;
  }
}

function showLive(word, detail) {
  const live = document.getElementById("live");
  live.dataset.state = word;
  live.textContent =
    detail ??
    { live: "live", "catching-up": "catching up", polling: "reconnecting, asking meanwhile", stale: "not connected" }[
      word
    ];
}

function hear(message) {
  if (message.state) state = message.state;
  if (message.kind === "events") receive(message.events);
  else askToDraw();
}

function choose(tab) {
  if (!document.getElementById(`view-${tab}`)) tab = "overview";
  view.tab = tab;
  document
    .querySelectorAll("[role=tab]")
    .forEach((one) => one.setAttribute("aria-selected", String(one.dataset.tab === tab)));
  document.querySelectorAll("[role=tabpanel]").forEach((one) => {
    one.hidden = one.id !== `view-${tab}`;
  });
  document.getElementById("chart-tools").hidden = ["config", "log", "checkpoints", "alerts"].includes(tab);
  history.replaceState(null, "", `${location.pathname}${location.search}#${tab}`);
  log.watch(tab === "log");
  askToDraw();
}

function remember() {
  const next = new URL(location.href);
  next.searchParams.set("x", view.axis);
  next.searchParams.set("smoothing", view.smoothing);
  history.replaceState(null, "", next);
}

function prepare() {
  const axis = document.getElementById("x-axis");
  const smoothing = document.getElementById("smoothing");
  axis.value = view.axis;
  smoothing.value = view.smoothing;
  const show = () => {
    document.getElementById("smoothing-value").textContent = view.smoothing.toFixed(2);
  };
  show();
  axis.addEventListener("change", () => {
    view.axis = axis.value;
    remember();
    askToDraw();
  });
  smoothing.addEventListener("input", () => {
    view.smoothing = Number(smoothing.value);
    show();
    remember();
    askToDraw();
  });
  document.getElementById("reset-zoom").addEventListener("click", () => {
    view.revision += 1;
    askToDraw();
  });
  document
    .querySelectorAll("[role=tab]")
    .forEach((one) => one.addEventListener("click", () => choose(one.dataset.tab)));
  addEventListener("hashchange", () => choose(location.hash.slice(1)));
  addEventListener("starboard:theme", () => setTimeout(askToDraw, 0));
  document.addEventListener("visibilitychange", askToDraw);
  const dialog = document.getElementById("rename-dialog");
  document.getElementById("rename").addEventListener("click", () => dialog.showModal());
  document.getElementById("rename-cancel").addEventListener("click", () => dialog.close());
  prepareControls(root.dataset.control, (told) => {
    state = told;
    askToDraw();
  });
}

prepare();
choose(view.tab);
await catchUp();
socket = new LiveSocket({
  path: `/ws/runs/${root.dataset.run}/`,
  after: () => store.lastSeq,
  onMessage: hear,
  onState: showLive,
  poll: catchUp,
});
