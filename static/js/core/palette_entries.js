// What the palette finds: pages, what can be done on this page, runs, presets and metrics.

import { byId, findAll } from "./dom.js";

/** @import { RunState } from "../types.js" */

/**
 * An address to open, or something to do.
 * @typedef {object} Entry
 * @property {string} name
 * @property {string} kind shown beside the name
 * @property {string} [address]
 * @property {() => void} [act]
 * @property {RunState} [run] shown by its state and health instead of `kind`
 */

/** @type {Entry[]} */
export const PAGES = [
  ["Runs", "/runs/"],
  ["New run", "/runs/new/"],
  ["Sweeps", "/sweeps/"],
  ["New sweep", "/sweeps/new/"],
  ["Queue", "/queue/"],
  ["Trajectories of all runs", "/trajectories/"],
  ["Environments", "/environments/"],
  ["New environment", "/environments/new/"],
  ["Suites", "/suites/"],
  ["New suite", "/suites/new/"],
  ["Evaluations on suites", "/evaluations/"],
  ["Leaderboard", "/leaderboard/"],
  ["Compare", "/compare/"],
  ["Reports", "/reports/"],
  ["New report", "/reports/new/"],
  ["Models", "/models/"],
  ["Glossary", "/glossary/"],
  ["Notifications", "/settings/notifications/"],
  ["Style guide", "/styleguide/"],
].map(([name, address]) => ({ name, kind: "Page", address }));

/** What the buttons and tabs of this page do now. */
export function actionsHere() {
  const controls = findAll(document, "button[data-control]", HTMLButtonElement).filter(isUsable);
  const tabs = findAll(document, '[role="tab"]', HTMLButtonElement).filter(isUsable);
  const text = (/** @type {HTMLElement} */ one) => (one.textContent ?? "").replace(/\s+/g, " ").trim();
  /** @type {Entry[]} */
  const buttons = [
    ...controls.map((one) => ({ name: `${text(one)} this run`, kind: "Action", act: () => one.click() })),
    { name: "Change theme", kind: "Action", act: () => byId("theme-switch").click() },
    { name: "Keyboard shortcuts", kind: "Action", act: () => byId("keys-open").click() },
  ];
  return { buttons, tabs: tabs.map((one) => ({ name: `Show ${text(one)}`, kind: "Tab", act: () => one.click() })) };
}

/** @param {HTMLButtonElement} button */
const isUsable = (button) => !button.disabled && !button.hidden && !button.closest("[hidden]");

/**
 * Those of the server, the newest runs first; none of a kind that it does not answer for.
 * @returns {Promise<{ runs: Entry[], others: Entry[] }>}
 */
export async function found() {
  const [runs, others] = await Promise.all([answer("/api/v1/runs/"), answer("/palette/")]);
  const named = (runs?.runs ?? []).map((/** @type {RunState} */ run) => ({
    name: run.name,
    kind: "Run",
    address: `/runs/${run.id}/`,
    run,
  }));
  const presets = (others?.presets ?? []).map((/** @type {{ key: string, title: string }} */ preset) => ({
    name: `New run: ${preset.title}`,
    kind: "Preset",
    address: `/runs/new/?preset=${preset.key}`,
  }));
  const metrics = (others?.metrics ?? []).map(
    (/** @type {{ title: string, name: string, anchor: string }} */ metric) => ({
      name: `${metric.title} (${metric.name})`,
      kind: "Metric",
      address: `/glossary/#${metric.anchor}`,
    }),
  );
  return { runs: named, others: [...presets, ...metrics] };
}

/** @param {string} address */
async function answer(address) {
  try {
    const response = await fetch(address, { headers: { Accept: "application/json" } });
    return response.ok ? await response.json() : null;
  } catch {
    return null;
  }
}
