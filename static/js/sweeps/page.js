// The page of a sweep: its results are refreshed as runs change, and its effects are drawn.

import { prepareEffects } from "../compare/effects_panel.js";
import { byId, findAll, jsonOf } from "../core/dom.js";
import { refreshTimes } from "../core/format.js";
import { LiveSocket } from "../core/live_socket.js";
import { commonRange, EffectChart } from "./effect_chart.js";

/** @import { Effect } from "./effect_chart.js" */

/** @typedef {{ axes: Effect[], measure: string, share: boolean }} Effects */

const DELAY = 800; // milliseconds in which updates are merged into one refresh

const results = byId("sweep-results");
const host = byId("sweep-effects");
/** @type {Map<string, EffectChart>} */
const charts = new Map();
/** @type {Effects} */
let effects = jsonOf("sweep-charts");
/** @type {ReturnType<typeof setTimeout> | null} */
let due = null;

function draw() {
  // all panels first: a chart takes the width that its panel has when it is drawn
  for (const { axis } of effects.axes) {
    if (charts.has(axis)) continue;
    const chart = new EffectChart(axis);
    charts.set(axis, chart);
    host.append(chart.panel);
  }
  const about = { ...effects, range: commonRange(effects.axes, effects.share) };
  for (const effect of effects.axes) charts.get(effect.axis)?.draw(effect, about);
}

async function refresh() {
  const answer = await fetch((results.dataset.url ?? "") + location.search).catch(() => null);
  if (!answer?.ok || answer.redirected) return false;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  refreshTimes(page);
  const parts = findAll(page, "[data-part]");
  const data = page.getElementById("sweep-charts")?.textContent ?? "";
  if (data && data !== JSON.stringify(effects)) {
    effects = JSON.parse(data);
    draw();
  }
  const before = new Map(findAll(document, "[data-part]").map((part) => [part.dataset.part, part]));
  for (const part of parts) {
    const former = before.get(part.dataset.part);
    if (part.dataset.part === "charts") continue; // drawn by this script
    if (former?.dataset.key && former.dataset.key === part.dataset.key) continue; // buttons that may be pressed right now
    if (!former) {
      byId("sweep-effects").parentElement?.before(document.adoptNode(part)); // the heat map, with the first result
    } else if (!former.isEqualNode(part) && !former.contains(document.activeElement)) {
      former.replaceWith(document.adoptNode(part));
    }
  }
  return true;
}

function refreshSoon() {
  due ??= setTimeout(() => {
    due = null;
    if (!document.hidden) refresh();
  }, DELAY);
}

const live = byId("live");
new LiveSocket({
  path: "/ws/runs/",
  after: () => 0,
  onMessage: refreshSoon, // also for its hello: runs may have changed since the page was made
  poll: refresh,
  onState: (state, detail) => {
    live.dataset.state = state;
    live.textContent = detail ?? (state === "live" ? "live" : state === "stale" ? "not connected" : "connecting");
  },
});
document.addEventListener("visibilitychange", () => document.hidden || refreshSoon()); // updates missed while hidden
new MutationObserver(draw).observe(document.documentElement, { attributeFilter: ["data-theme"] });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
draw();
prepareEffects();
