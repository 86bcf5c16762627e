// The run page: an outline first, then the socket; draws only what is in view.

import { notifies } from "../core/browser_notifications.js";
import { windowOfSteps } from "../charts/step_window.js";
import { stepsOf } from "../charts/chart_traces.js";
import { prepareChartTools } from "../charts/chart_toolbar.js";
import { Curves } from "../charts/curves.js";
import { Lineage } from "../charts/lineage.js";
import { byId, findAll, jsonOf } from "../core/dom.js";
import { oneAtATime } from "../core/draw_scheduler.js";
import { EventLatency } from "./event_latency.js";
import { LiveSocket } from "../core/live_socket.js";
import { getJson } from "../core/requests.js";
import { showConnection } from "../core/connection_status.js";
import { prepareControls, unsaved } from "./controls.js";
import { prepareVerdict, showState, showVerdict } from "./header.js";
import { Panels } from "./panels.js";
import { showStanding } from "./standing.js";
import { RunStore } from "./store.js";
import { showWhetherEmpty } from "./empty_run.js";
import { prepareHead, scrollToView, showTab } from "./sticky_head.js";
import { makeTabs, WITH_CHARTS } from "./tabs/index.js";
import { markSmallCharts } from "../charts/small_chart.js";
import { RunView } from "./view_state.js";
import { TabHistory } from "../core/tab_history.js";

/** @import { EventPage, Outline, RunEvent, RunState, SocketUpdate, Tab } from "../types.js" */

const root = byId("run");
const run = root.dataset.run ?? "";
const api = `/api/v1/runs/${run}/`;
/** @type {RunState} */
let state = jsonOf("live-state");
const { request: requestDraw, update: requestUpdate } = oneAtATime(draw, drawn);
const curves = new Curves(`${api}bands`, state.step, requestDraw);
const store = new RunStore(curves, new Lineage(jsonOf("lineage"), requestDraw));
const view = new RunView(location.href);
const panels = new Panels(jsonOf("panels"), jsonOf("tags"), {
  onPoint: (point) => location.assign(`${root.dataset.trajectories}?${stepsOf(point)}`),
  onZoom: (range) => {
    view.zoom(range);
    requestDraw();
  },
  onReset: () => {
    view.reset();
    requestDraw();
  },
  onStretch: () => {
    view.stretched = true;
    showTools();
  },
  onAlert: (seq) => location.assign(`${byId("alert-list").dataset.evidence}${seq}/`),
  onHover: (position) => {
    panels.mark(position);
    markSmallCharts(position?.step ?? null);
  },
  onNear: requestDraw,
  valuesAddress: `${api}metrics`,
  fileStem: run,
});
/** @type {Record<string, Tab>} */
const tabs = makeTabs(root, panels, jsonOf("sections"), view);
const latency = new EventLatency(byId("lag"));
const tabHistory = new TabHistory((tab) => {
  choose(tab);
  view.keep();
});
/** @type {number[]} times of events that are not on the screen yet */
let pending = [];
/** @type {number[]} and of those that are being drawn */
let drawing = [];
let shownSince = 0; // by the server's clock, in seconds; events from before were not delayed by the line
/** @type {LiveSocket<SocketUpdate> | null} */
let socket = null;
let showTools = () => {};

async function draw() {
  drawing = pending;
  pending = [];
  try {
    await tabs[view.tab]?.draw({ store, view, state });
  } finally {
    showState(state, store); // even if the view failed
    showVerdict(state);
    showEmpty();
    showStanding(state, { address: root.dataset.control ?? "", onState: takeState });
    showTools();
  }
}

const showEmpty = () => showWhetherEmpty(state, store, WITH_CHARTS.includes(view.tab) ? view.tab : "");

function drawn() {
  drawing.filter((time) => time >= shownSince).forEach((time) => latency.drawn(time, socket?.offset ?? 0));
  tabHistory.drawn();
}

/**
 * who changed settings is not in the engine's events
 * @param {RunState} next
 */
function setState(next) {
  state = next;
  store.requestedBy = next.settings_by ?? store.requestedBy;
}

/** @param {RunEvent[]} events */
function receive(events) {
  const fresh = store.add(events);
  if (!document.hidden) pending.push(...fresh.flatMap((one) => (one.kind === "step_completed" ? [one.time] : [])));
  Object.values(tabs).forEach((tab) => tab.receive?.(fresh));
  requestUpdate();
}

async function begin() {
  /** @type {Outline | null} */
  const outline = await getJson(`${api}outline`);
  if (outline) store.begin(outline);
  requestDraw();
}

// Without a socket: what it would have sent.
async function poll() {
  if (document.hidden && !notifies()) return true;
  for (let more = true; more;) {
    /** @type {EventPage | null} */
    const page = await getJson(`${api}events?after=${store.lastSeq}&limit=2000`);
    if (!page) return false;
    receive(page.events);
    more = page.more;
  }
  /** @type {RunState | null} */
  const next = await getJson(api);
  if (next) setState({ ...state, ...next });
  requestUpdate();
  return true;
}

// A tab that is shown again has events to catch up with.
function visibilityChanged() {
  pending = [];
  if (document.hidden) return;
  shownSince = Date.now() / 1000 + (socket?.offset ?? 0);
  requestDraw();
}

/** @param {SocketUpdate} message */
function takeMessage(message) {
  if (message.state) setState(message.state);
  if (message.kind === "events") receive(message.events ?? []);
  else requestUpdate();
}

/**
 * Shows a tab; one that the reader chose is a step that Back returns from.
 * @param {string} name
 */
function choose(name, byReader = false) {
  const tab = Object.hasOwn(tabs, name) ? name : "overview";
  tabs[view.tab]?.shown?.(false);
  view.tab = tab;
  for (const one of tabButtons()) {
    one.setAttribute("aria-selected", String(one.dataset.tab === tab));
    one.tabIndex = one.dataset.tab === tab ? 0 : -1;
    if (one.dataset.tab === tab) showTab(one);
  }
  for (const one of findAll(document, "[role=tabpanel]")) one.hidden = one.id !== `view-${tab}`;
  showEmpty();
  tabHistory.shown(tab, byReader);
  if (byReader) scrollToView();
  tabs[tab].shown?.(true);
  requestDraw();
}

const tabButtons = () => findAll(document, "[role=tab]");

/** @type {Record<string, number>} */
const ALONG = { ArrowLeft: -1, ArrowRight: 1 };

/**
 * ← and → go from tab to tab, as in every list of tabs
 * @param {KeyboardEvent} event
 */
function tabByKey(event) {
  const step = ALONG[event.key];
  if (!step) return;
  const all = tabButtons();
  const at = all.findIndex((one) => one === event.currentTarget);
  const next = all[(at + step + all.length) % all.length];
  choose(next.dataset.tab ?? "", true);
  next.focus();
  event.preventDefault();
}

function prepare() {
  showTools = prepareChartTools(view, requestDraw);
  prepareVerdict();
  prepareHead();
  for (const one of tabButtons()) {
    one.addEventListener("click", () => choose(one.dataset.tab ?? "", true));
    one.addEventListener("keydown", tabByKey);
  }
  root.addEventListener("step-pointed", ({ detail: step }) => {
    panels.mark(step === null ? null : curves.position(step));
    markSmallCharts(step);
  });
  root.addEventListener("steps-selected", ({ detail: steps }) => {
    if (steps) view.zoom(windowOfSteps(steps, { store, view }));
    else view.reset();
    requestDraw();
  });
  const themeChanged = new MutationObserver(() => {
    view.theme += 1;
    requestDraw();
  });
  themeChanged.observe(document.documentElement, { attributeFilter: ["data-theme"] });
  document.addEventListener("visibilitychange", visibilityChanged);
  prepareControls(root.dataset.control ?? "", {
    state: () => state.state,
    lost: () => unsaved(store.steps, store.checkpoints),
    onState: takeState,
  });
}

/** @param {Partial<RunState>} next */
function takeState(next) {
  setState({ ...state, ...next });
  requestDraw();
}

setState(state);
prepare();
choose(view.tab || "overview");
await begin();
socket = new LiveSocket({
  path: `/ws/runs/${run}/`,
  after: () => store.lastSeq,
  onMessage: takeMessage,
  onState: showConnection,
  poll,
  needed: notifies,
});
