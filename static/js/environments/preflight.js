// The pre-flight of an environment: its verdict, shares and matrix of rewards, which grow while it is being played.

import { byId, element, find, jsonOf, svg } from "../core/dom.js";
import { getJson } from "../core/requests.js";
import { visibleString } from "../core/visible_text.js";
import { matrixOf } from "./preflight_matrix.js";

/** @import { Preflight, PreflightReport } from "../types.js" */

const POLL_MILLISECONDS = 1000;
/** @type {Record<string, string>} */
const BANNERS = { good: "banner banner--good", warn: "banner banner--warn", bad: "banner banner--error" };
const panel = byId("preflight");

/** @param {Preflight} state */
function show(state) {
  panel.setAttribute("aria-busy", String(state.live));
  byId("preflight-state").textContent = [progressOf(state), visibleString(state.message)].filter(Boolean).join(". ");
  if (!state.live) document.getElementById("preflight-stop")?.remove();
  if (state.report) {
    byId("preflight-report").replaceChildren(...reportOf(state.report, state.asked.rollouts, state.live));
  } else if (!state.live) byId("preflight-report").replaceChildren();
  showRow(state);
}

/**
 * Its row in the list below, which may have too many newer ones to have it.
 * @param {Preflight} state
 */
function showRow({ label, live, report }) {
  const row = document.getElementById("preflight-row");
  if (!row) return;
  find(row, '[data-shows="state"]').textContent = label;
  find(row, '[data-shows="verdict"]').textContent = report && !live ? visibleString(report.verdict.text) : "";
}

/** @param {Preflight} state */
function progressOf({ label, live, report, asked }) {
  return live && report ? `${label}: ${report.rollouts} of ${asked.rollouts} rollouts of each problem` : label;
}

/**
 * @param {PreflightReport} report
 * @param {number} asked
 * @param {boolean} live
 */
function reportOf(report, asked, live) {
  const { verdict } = report;
  const words = element("p", { class: BANNERS[verdict.level] ?? "banner" }, visibleString(verdict.text));
  const errors = report.errors.map((error) => element("p", { class: "field-error" }, visibleString(error)));
  const matrix = element(
    "section",
    { class: "panel" },
    element("h3", { class: "panel-title" }, "Rewards"),
    element("div", { class: "matrix-wrap table-wrap" }, matrixOf(report, asked)),
  );
  const scatter = element(
    "section",
    { class: "panel" },
    element("h3", { class: "panel-title" }, "Variance against mean"),
    scatterOf(report),
    element("p", { class: "muted" }, "A dot is a problem. On the floor, all its rollouts have the same reward."),
  );
  return [
    ...(live && report.rollouts < 2 ? [] : [words]), // rewards of one rollout cannot differ
    ...errors,
    tilesOf(report),
    sharesOf(report),
    element("div", { class: "preflight-columns" }, matrix, scatter),
  ];
}

/** @param {PreflightReport} report */
function tilesOf(report) {
  const { lengths, variance_total: total, variance_within: within } = report;
  const longest = lengths.length ? `shortest solutions ${Math.min(...lengths)} to ${Math.max(...lengths)} actions` : "";
  const unknown = report.unknown_solutions ? `unknown for ${report.unknown_solutions}` : "";
  const tiles = [
    ["Success", percent(report.mean === null ? null : report.success), `mean reward ${short(report.mean)}`],
    [
      "Problems with varied rewards",
      percent(report.mean === null ? null : report.varied),
      "the others have no gradient with GRPO",
    ],
    [
      "Variance within problems",
      short(within),
      total > 0 ? `${percent(within / total)} of ${short(total)} in all` : "no variance at all",
    ],
    [
      "Over the budget",
      lengths.length ? `${report.over_budget} of ${lengths.length}` : "unknown",
      [`budget ${report.budget} actions`, longest, unknown].filter(Boolean).join(", "),
    ],
    [
      "Malformed responses",
      percent(report.malformed),
      report.faults ? `${report.faults} rollouts failed` : "no faults",
    ],
    [
      "Distinct problems",
      `${report.distinct} of ${report.problems.length}`,
      report.shared
        ? `${report.shared} of the same number of held-out problems are among them`
        : "none of the same number of held-out problems is among them",
    ],
  ];
  return element(
    "div",
    { class: "preflight-tiles" },
    ...tiles.map(([label, value, note]) =>
      element(
        "div",
        { class: "tile" },
        element("span", { class: "tile-label" }, label),
        element("span", { class: "tile-value" }, value),
        element("span", { class: "tile-note" }, note),
      ),
    ),
  );
}

/** @param {PreflightReport} report */
function sharesOf({ shares }) {
  const parts = /** @type {const} */ ([
    ["easy", shares.easy, "every rollout solves it"],
    ["mixed", shares.mixed, "some do"],
    ["hard", shares.hard, "none does"],
  ]);
  let x = 0;
  const bars = parts.map(([name, share]) => {
    const bar = svg("rect", { class: `preflight-${name}`, x, y: 0, width: 100 * share, height: 10 });
    x += 100 * share;
    return bar;
  });
  const picture = svg("svg", { viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" }, ...bars);
  const legend = parts.map(([name, share, words]) => {
    const square = svg("rect", { class: `preflight-${name}`, width: 10, height: 10, rx: 2 });
    const swatch = svg("svg", { viewBox: "0 0 10 10", "aria-hidden": "true" }, square);
    return element("span", {}, swatch, `${name} ${percent(share)}: ${words}`);
  });
  return element(
    "div",
    {},
    element("div", { class: "preflight-shares" }, picture),
    element("p", { class: "preflight-legend" }, ...legend),
  );
}

/** @param {PreflightReport} report */
function scatterOf({ problems }) {
  const dots = problems.flatMap(({ mean, variance }) =>
    mean === null || variance === null ? [] : [{ mean, variance }],
  );
  const means = dots.map((dot) => dot.mean);
  const [low, high] = [Math.min(0, ...means), Math.max(1e-9, ...means)];
  const top = Math.max(1e-9, ...dots.map((dot) => dot.variance));
  const across = (/** @type {number} */ value) => 34 + (196 * (value - low)) / (high - low);
  const up = (/** @type {number} */ value) => 128 - (112 * value) / top;
  return svg(
    "svg",
    { class: "preflight-scatter", viewBox: "0 0 240 160", role: "img" },
    svg("title", {}, `Variance against mean of the rewards of ${dots.length} problems`),
    svg("line", { x1: 34, y1: 128, x2: 234, y2: 128 }),
    svg("line", { x1: 34, y1: 10, x2: 34, y2: 128 }),
    ...dots.map(({ mean, variance }) => svg("circle", { cx: across(mean), cy: up(variance), r: 4 })),
    svg("text", { x: 34, y: 142 }, short(low)),
    svg("text", { x: 230, y: 142, "text-anchor": "end" }, short(high)),
    svg("text", { x: 132, y: 155, "text-anchor": "middle" }, "mean reward"),
    svg("text", { x: 30, y: 131, "text-anchor": "end" }, "0"),
    svg("text", { x: 30, y: 19, "text-anchor": "end" }, short(top)),
  );
}

/** @param {number | null} share */
const percent = (share) => (share === null ? "–" : `${Math.round(100 * share)}%`);
/** @param {number | null} value */
const short = (value) => (value === null ? "–" : String(Number(value.toFixed(3))));

async function poll() {
  /** @type {Preflight | null} */
  const state = document.hidden ? null : await getJson(panel.dataset.url ?? "");
  if (state) show(state);
  if (!state || state.live) setTimeout(poll, POLL_MILLISECONDS);
}

/** @type {Preflight} */
const first = jsonOf("preflight-data");
show(first);
if (first.live) setTimeout(poll, POLL_MILLISECONDS);
