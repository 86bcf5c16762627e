// Layouts of charts: saved ones by their ids, and any as text for an address.

import { csrfToken } from "../core/requests.js";

/** @import { ChartChoice, Preset } from "../types.js" */

/**
 * @typedef {object} SavedLayout as the server has it
 * @property {number} id
 * @property {string} name
 * @property {string[][]} charts
 * @property {(boolean | null)[]} log
 * @property {boolean} mine
 * @property {string} owner
 */

const HOME = "/panels/";

/** The reader's own. */
export async function savedLayouts() {
  /** @type {{ layouts?: SavedLayout[] } | null} */
  const answer = await request(HOME);
  return (answer?.layouts ?? []).map(layoutOf);
}

/**
 * Anybody's by its id; null if there is none.
 * @param {string} key
 */
export async function openLayout(key) {
  /** @type {SavedLayout | null} */
  const answer = /^\d+$/.test(key) ? await request(`${HOME}${key}/`) : null;
  return answer?.charts ? layoutOf(answer) : null;
}

/**
 * Saves a layout; returns it as it was saved, or the error.
 * @param {{ key: string, name: string, charts: ChartChoice[], mine?: boolean }} layout
 * @returns {Promise<Preset | { error: string }>}
 */
export async function saveLayout({ key, name, charts, mine }) {
  const log = charts.map((chart) => chart.log ?? null);
  const body = JSON.stringify({ name, charts: charts.map((chart) => chart.names), log });
  /** @type {(SavedLayout & { error?: string }) | null} */
  const answer = mine ? await request(`${HOME}${key}/`, "PUT", body) : await request(HOME, "POST", body);
  return answer?.charts ? layoutOf(answer) : { error: answer?.error ?? "The server did not answer. Try again." };
}

/** @param {string} key */
export async function deleteLayout(key) {
  await request(`${HOME}${key}/`, "DELETE");
}

/**
 * @template T
 * @param {string} address
 * @param {string} [method]
 * @param {string} [body]
 * @returns {Promise<T | null>}
 */
async function request(address, method = "GET", body = undefined) {
  const headers = { Accept: "application/json", "Content-Type": "application/json", "X-CSRFToken": csrfToken() };
  const answer = await fetch(address, { method, body, headers }).catch(() => null);
  return answer?.headers.get("Content-Type")?.includes("json") ? await answer.json() : null;
}

/**
 * @param {SavedLayout} saved
 * @returns {Preset}
 */
const layoutOf = ({ id, name, charts, log, mine, owner }) => ({
  key: String(id),
  title: name,
  charts: charts.map((names, index) => ({ title: "", names, log: log[index] ?? null })),
  mine,
  owner,
});

// `a/b+c/d,e/f:log`: commas between charts, pluses between the metrics of a chart, and at its end the axis where it is
// not the metrics' own

/** @type {Record<string, boolean>} */
const AXES = { log: true, linear: false };

/** @param {ChartChoice[]} charts */
export function toText(charts) {
  return charts.map((chart) => chart.names.map(encodeURIComponent).join("+") + axisOf(chart)).join(",");
}

/** @param {ChartChoice} chart */
function axisOf({ log }) {
  const name = Object.keys(AXES).find((one) => AXES[one] === log);
  return name ? `:${name}` : "";
}

/**
 * @param {string} text
 * @returns {ChartChoice}
 */
function chartOf(text) {
  const [names, axis] = text.split(":");
  return { title: "", names: names.split("+").map(decodeURIComponent), log: AXES[axis] ?? null };
}

/**
 * Parses the charts in a text; null if it is invalid.
 * @param {string | null} text
 */
export function fromText(text) {
  if (!text) return null;
  try {
    const charts = text.split(",").map(chartOf);
    return charts.every((chart) => chart.names.every(Boolean)) ? charts : null;
  } catch {
    return null; // edited manually
  }
}
