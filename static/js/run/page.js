// The run page: an outline first, then the socket; draws what is in view and nothing that nobody looks at.

import { notifies } from "../core/browser_notifications.js";
import { windowOfSteps } from "../charts/step_window.js";
import { stepsOf } from "../charts/chart_traces.js";
import { prepareChartTools } from "../charts/chart_toolbar.js";
import { Curves } from "../charts/curves.js";
import { oneAtATime } from "../core/draw_scheduler.js";
import { Lag } from "./event_latency.js";
import { LiveSocket } from "../core/live_socket.js";
import { showLive } from "../core/connection_status.js";
import { prepareControls } from "./controls.js";
import { prepareHealth, showHealth, showState } from "./header.js";
import { Panels } from "./panels.js";
import { RunStore } from "./store.js";
import { makeTabs, WITH_CHARTS } from "./tabs/index.js";
import { markSmallLines } from "../charts/small_chart.js";
import { RunView } from "./view_state.js";
import { TabHistory } from "../core/tab_history.js";

const root = document.getElementById("run");
const api = `/api/v1/runs/${root.dataset.run}/`;
const read = (id) => JSON.parse(document.getElementById(id).textContent);
const FORMER = { optimisation: "optimisation", throughput: "throughput" }; // views of before
let state = read("live-state");
const askToDraw = oneAtATime(draw, drawn);
const curves = new Curves(`${api}bands`, state.step, askToDraw);
const store = new RunStore(curves);
const view = new RunView(location.href);
const panels = new Panels(read("panels"), read("tags"), {
  onPoint: (point) => location.assign(`${root.dataset.trajectories}?${stepsOf(point)}`),
  onZoom: (range) => {
    view.zoom(range);
    askToDraw();
  },
  onReset: () => {
    view.reset();
    askToDraw();
  },
  onAlert: (seq) => location.assign(`${document.getElementById("alert-list").dataset.evidence}${seq}/`),
  onHover: (place) => {
    panels.mark(place);
    markSmallLines(place?.step ?? null);
  },
  onNear: askToDraw,
  valuesAddress: `${api}metrics`,
  fileStem: root.dataset.run,
});
const tabs = makeTabs(root, panels, read("sections"), view);
const lag = new Lag(document.getElementById("lag"));
const steps = new TabHistory((tab) => {
  choose(tab);
  view.keep();
});
let waiting = []; // times of events that are not on the screen yet
let showing = []; // and of those that are being drawn
let seenSince = 0; // by the server's clock, in seconds; what happened before is no lag of the line
let socket = null;
let showTools = () => {};

async function draw() {
  showing = waiting;
  waiting = [];
  try {
    await tabs[view.tab]?.draw({ store, view, state });
  } finally {
    showState(state, store); // whatever became of the view
    showHealth(state);
    showTools();
  }
}

function drawn() {
  showing.filter((time) => time >= seenSince).forEach((time) => lag.drawn(time, socket?.offset ?? 0));
  steps.drawn();
}

// who changed settings is not in the engine's events
function take(told) {
  state = told;
  store.askers = told.settings_by ?? store.askers;
}

function receive(events) {
  const fresh = store.add(events);
  if (!document.hidden)
    waiting.push(...fresh.filter((event) => event.kind === "step_completed").map((event) => event.time));
  Object.values(tabs).forEach((tab) => tab.receive?.(fresh));
  askToDraw();
}

async function ask(address) {
  const answer = await fetch(address, { headers: { Accept: "application/json" } }).catch(() => null);
  return answer?.ok ? await answer.json().catch(() => null) : null;
}

async function begin() {
  const outline = await ask(`${api}outline`);
  if (outline) store.begin(outline);
  askToDraw();
}

// Without a socket: what it would have said.
async function poll() {
  if (document.hidden && !notifies()) return true;
  for (let more = true; more;) {
    const page = await ask(`${api}events?after=${store.lastSeq}&limit=2000`);
    if (!page) return false;
    receive(page.events);
    more = page.more;
  }
  const told = await ask(api);
  if (told) take({ ...state, ...told });
  askToDraw();
  return true;
}

// A tab that is looked at again has its past to catch up with.
function seen() {
  waiting = [];
  if (document.hidden) return;
  seenSince = Date.now() / 1000 + (socket?.offset ?? 0);
  askToDraw();
}

function hear(message) {
  if (message.state) take(message.state);
  if (message.kind === "events") receive(message.events);
  else askToDraw();
}

// `byHand` makes it a step that Back returns from
function choose(tab, byHand = false) {
  const former = FORMER[tab];
  if (former) tab = "panels";
  if (!Object.hasOwn(tabs, tab)) tab = "overview";
  tabs[view.tab]?.shown?.(false);
  view.tab = tab;
  if (former) tabs.panels.choose(former);
  document.querySelectorAll("[role=tab]").forEach((one) => {
    one.setAttribute("aria-selected", String(one.dataset.tab === tab));
    one.tabIndex = one.dataset.tab === tab ? 0 : -1;
  });
  document.querySelectorAll("[role=tabpanel]").forEach((one) => {
    one.hidden = one.id !== `view-${tab}`;
  });
  document.getElementById("chart-tools").hidden = !WITH_CHARTS.includes(tab);
  steps.shown(tab, byHand);
  tabs[tab].shown?.(true);
  askToDraw();
}

// ← and → go from tab to tab, as in every list of tabs
function turn(event) {
  const all = [...document.querySelectorAll("[role=tab]")];
  const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (!step) return;
  const next = all[(all.indexOf(event.currentTarget) + step + all.length) % all.length];
  choose(next.dataset.tab, true);
  next.focus();
  event.preventDefault();
}

function prepare() {
  showTools = prepareChartTools(view, askToDraw);
  prepareHealth();
  document.querySelectorAll("[role=tab]").forEach((one) => {
    one.addEventListener("click", () => choose(one.dataset.tab, true));
    one.addEventListener("keydown", turn);
  });
  root.addEventListener("step-pointed", ({ detail: step }) => {
    panels.mark(step === null ? null : curves.place(step));
    markSmallLines(step);
  });
  root.addEventListener("steps-looked-at", ({ detail: steps }) => {
    if (steps) view.zoom(windowOfSteps(steps, { store, view }));
    else view.reset();
    askToDraw();
  });
  const turned = new MutationObserver(() => {
    view.theme += 1;
    askToDraw();
  });
  turned.observe(document.documentElement, { attributeFilter: ["data-theme"] });
  document.addEventListener("visibilitychange", seen);
  const dialog = document.getElementById("rename-dialog");
  document.getElementById("rename").addEventListener("click", () => dialog.showModal());
  document.getElementById("rename-cancel").addEventListener("click", () => dialog.close());
  prepareControls(root.dataset.control, (told) => {
    take({ ...state, ...told });
    askToDraw();
  });
}

take(state);
prepare();
choose(view.tab || "overview");
await begin();
socket = new LiveSocket({
  path: `/ws/runs/${root.dataset.run}/`,
  after: () => store.lastSeq,
  onMessage: hear,
  onState: showLive,
  poll,
  needed: notifies,
});
