// Layouts of charts: kept ones by their ids, and any as text for an address.

import { token } from "../run/controls.js";

const HOME = "/panels/";

/** One's own, as `{key, title, charts: [{title, names, log}], mine, owner}`; `log` is null where it is as usual. */
export async function kept() {
  const answer = await ask(HOME);
  return (answer?.layouts ?? []).map(layoutOf);
}

/** Anybody's by its id; null if there is none. */
export async function open(key) {
  const answer = /^\d+$/.test(key) ? await ask(`${HOME}${key}/`) : null;
  return answer?.charts ? layoutOf(answer) : null;
}

/** Keeps `{key, name, charts, mine}`; what was kept, or `{error}`. */
export async function keep({ key, name, charts, mine }) {
  const log = charts.map((chart) => chart.log ?? null);
  const body = JSON.stringify({ name, charts: charts.map((chart) => chart.names), log });
  const answer = mine ? await ask(`${HOME}${key}/`, "PUT", body) : await ask(HOME, "POST", body);
  return answer?.charts ? layoutOf(answer) : { error: answer?.error ?? "The server did not answer. Try again." };
}

export async function drop(key) {
  await ask(`${HOME}${key}/`, "DELETE");
}

async function ask(address, method = "GET", body = undefined) {
  const headers = { Accept: "application/json", "Content-Type": "application/json", "X-CSRFToken": token() };
  const answer = await fetch(address, { method, body, headers }).catch(() => null);
  return answer?.headers.get("Content-Type")?.includes("json") ? await answer.json() : null;
}

const layoutOf = ({ id, name, charts, log, mine, owner }) => ({
  key: String(id),
  title: name,
  charts: charts.map((names, place) => ({ title: "", names, log: log[place] ?? null })),
  mine,
  owner,
});

// `a/b+c/d,e/f:log`: charts between commas, metrics over one another between pluses, and at the end of a chart its axis
// where that is not as usual

const AXES = { log: true, linear: false };

export function toText(charts) {
  return charts.map((chart) => chart.names.map(encodeURIComponent).join("+") + axisOf(chart)).join(",");
}

function axisOf({ log }) {
  const name = Object.keys(AXES).find((one) => AXES[one] === log);
  return name ? `:${name}` : "";
}

function chartOf(text) {
  const [names, axis] = text.split(":");
  return { title: "", names: names.split("+").map(decodeURIComponent), log: AXES[axis] ?? null };
}

export function fromText(text) {
  if (!text) return null;
  try {
    const charts = text.split(",").map(chartOf);
    return charts.every((chart) => chart.names.every(Boolean)) ? charts : null;
  } catch {
    return null; // somebody's typing
  }
}
