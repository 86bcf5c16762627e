// The run page: history first, then the socket; draws what is in view and nothing that nobody looks at.

import { element, icon } from "./dom.js";
import { duration } from "./format.js";
import { Lag } from "./lag.js";
import { LiveSocket } from "./live_socket.js";
import { prepareControls, showControls } from "./run_controls.js";
import { judge } from "./run_health.js";
import { Panels } from "./run_panels.js";
import { RunStore } from "./run_store.js";
import { makeTabs, WITH_CHARTS } from "./run_tabs/all.js";

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
const tabs = makeTabs(root, new Panels(read("panels"), tags, openStep));
const lag = new Lag(document.getElementById("lag"));
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
  await tabs[view.tab].draw({ store, view, state });
}

function showState() {
  const chip = document.querySelector("#state-chip .chip");
  chip.className = `chip chip--${state.shown_as}`;
  chip.replaceChildren(icon(state.shown_as), element("span", {}, state.label));
  const step = store.steps.at(-1)?.step ?? state.step;
  document.getElementById("step").textContent = `${step}/${state.total_steps}`;
  document.getElementById("attempt").textContent = state.attempt;
  document.getElementById("eta").textContent = eta(step);
  const alerts = store.alerts.length + state.faults.length;
  document.getElementById("alert-count").textContent = alerts ? `(${alerts})` : "";
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

function receive(events) {
  const fresh = store.add(events);
  waiting.push(...fresh.filter((event) => event.kind === "step_completed").map((event) => event.time));
  Object.values(tabs).forEach((tab) => tab.receive?.(fresh));
  askToDraw();
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
  if (!Object.hasOwn(tabs, tab)) tab = "overview";
  tabs[view.tab]?.shown?.(false);
  view.tab = tab;
  tabs[tab].shown?.(true);
  document
    .querySelectorAll("[role=tab]")
    .forEach((one) => one.setAttribute("aria-selected", String(one.dataset.tab === tab)));
  document.querySelectorAll("[role=tabpanel]").forEach((one) => {
    one.hidden = one.id !== `view-${tab}`;
  });
  document.getElementById("chart-tools").hidden = !WITH_CHARTS.includes(tab);
  history.replaceState(null, "", `${location.pathname}${location.search}#${tab}`);
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
