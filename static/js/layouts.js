// Layouts of charts: kept ones by their ids, and any as text for an address.

import { token } from "./run_controls.js";

const HOME = "/panels/";

/** One's own, as `{key, title, charts: [{title, names}], mine, owner}`. */
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
  const body = JSON.stringify({ name, charts: charts.map((chart) => chart.names) });
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

const layoutOf = ({ id, name, charts, mine, owner }) => ({
  key: String(id),
  title: name,
  charts: charts.map((names) => ({ title: "", names })),
  mine,
  owner,
});

// `a/b+c/d,e/f`: charts between commas, metrics over one another between pluses

export function toText(charts) {
  return charts.map((chart) => chart.names.map(encodeURIComponent).join("+")).join(",");
}

export function fromText(text) {
  if (!text) return null;
  try {
    const charts = text.split(",").map((chart) => ({ title: "", names: chart.split("+").map(decodeURIComponent) }));
    return charts.every((chart) => chart.names.every(Boolean)) ? charts : null;
  } catch {
    return null; // somebody's typing
  }
}
