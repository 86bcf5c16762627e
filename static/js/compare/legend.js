// The runs above the charts: which are shown, and their states; and the form that adds others.

import { byId, element, find, findAll, icon } from "../core/dom.js";
import { setQuery } from "../run/view_state.js";
import { readable } from "./view_state.js";
import { visibleString } from "../core/visible_text.js";

/** @import { CompareView } from "./view_state.js" */
/** @import { ComparedRun } from "./compared_runs.js" */

const QUERY = ["q", "tag", "project", "show", "sweep", "config", "archived"]; // what selects runs by themselves

/** @param {ComparedRun} run */
const entryOf = (run) => find(document, `[data-run="${run.id}"]`);

/**
 * Opens the comparison of other runs, all else as it is. Runs that stay keep their order.
 * @param {string[]} ids
 */
export function compareRuns(ids) {
  const address = new URL(location.href);
  address.pathname = "/compare/"; // from the page of a sweep too
  const kept = findAll(document, "[data-run]").filter((entry) => ids.includes(entry.dataset.run ?? ""));
  const stay = kept.map((entry) => entry.dataset.run ?? "");
  const hidden = (address.searchParams.get("hidden") ?? "").split(",").filter((id) => stay.includes(id));
  [...QUERY, "brush"].forEach((name) => address.searchParams.delete(name)); // which would select the others again
  address.searchParams.set("runs", [...stay, ...ids.filter((id) => !stay.includes(id))].join(","));
  setQuery(address, "hidden", hidden.join(","));
  location.assign(readable(address));
}

/**
 * Opens the same comparison with another value of a parameter.
 * @param {string} name
 * @param {string} value
 */
export function reopen(name, value) {
  const address = new URL(location.href);
  setQuery(address, name, value);
  location.assign(readable(address));
}

/** The link that begins a report with the charts as they are now, and with the tables of the same runs. */
export function prepareReport() {
  const [link] = findAll(document, "#save-report", HTMLAnchorElement);
  if (!link) return;
  const { pathname } = link;
  link.addEventListener("click", () => {
    const now = new URL(readable(new URL(location.href)));
    const one = findAll(document, "[data-run]").length === 1;
    const block = one ? "chart,metrics,alerts" : "chart,metrics,settings,alerts,problems";
    link.search = new URLSearchParams({ block, address: now.pathname + now.search }).toString();
    link.pathname = pathname;
  });
}

export function prepareChoice() {
  const [form] = findAll(document, "#run-choice");
  form?.addEventListener("submit", (event) => {
    event.preventDefault();
    compareRuns(findAll(form, "input[name=run]:checked", HTMLInputElement).map((input) => input.value));
  });
  const [group] = findAll(document, "#compare-group", HTMLSelectElement);
  group?.addEventListener("change", () => reopen("group", group.value)); // the server says which runs it is of
}

/** The form that selects runs by a query, all else as it is. */
export function prepareQuery() {
  const [form] = findAll(document, "#run-query", HTMLFormElement);
  form?.addEventListener("submit", (event) => {
    event.preventDefault();
    const address = new URL(location.href);
    ["runs", "hidden", ...QUERY].forEach((name) => address.searchParams.delete(name));
    for (const [name, value] of new FormData(form)) {
      const words = name === "tag" ? String(value).split(",") : [String(value)];
      words
        .map((word) => word.trim())
        .filter(Boolean)
        .forEach((word) => address.searchParams.append(name, word));
    }
    location.assign(readable(address));
  });
}

/** The form that compares two evaluations keeps how the charts are looked at, which is in the address. */
export function preparePair() {
  const [form] = findAll(document, "#pair-choice", HTMLFormElement);
  form?.addEventListener("submit", (event) => {
    event.preventDefault();
    const address = new URL(location.href);
    for (const name of ["first", "other"]) {
      address.searchParams.set(name, find(form, `[name=${name}]`, HTMLSelectElement).value);
    }
    address.hash = "two-evaluations";
    location.assign(readable(address));
  });
}

/**
 * `onToggle(id)` when somebody shows or hides a run.
 * @param {CompareView} view
 * @param {ComparedRun[]} runs
 * @param {(id: string) => void} onToggle
 */
export function prepareLegend(view, runs, onToggle) {
  for (const run of runs) {
    const entry = entryOf(run);
    find(entry, "[data-toggle]").addEventListener("click", () => onToggle(run.id));
    const others = runs.map(({ id }) => id).filter((id) => id !== run.id);
    find(entry, "[data-remove]").addEventListener("click", () => compareRuns(others));
  }
  showLegend(runs, view, false);
}

/**
 * @param {ComparedRun[]} runs
 * @param {CompareView} view
 * @param {boolean} grouped
 */
export function showLegend(runs, view, grouped) {
  for (const run of runs) {
    find(entryOf(run), "[data-toggle]").setAttribute("aria-pressed", String(!view.hidden.includes(run.id)));
  }
  byId("compare-band", HTMLSelectElement).disabled = !grouped;
}

/**
 * Shows the states of the runs, those that did not answer, and the metrics there are.
 * @param {ComparedRun[]} runs
 */
export function showUpdates(runs) {
  for (const run of runs) {
    const entry = entryOf(run);
    const chip = find(entry, ".chip");
    find(entry, "[data-step]").textContent = `step ${run.step}`;
    for (const inAll of findAll(entry, "[data-lineage-step]")) {
      inAll.textContent = String(run.lineage.before + run.step);
    }
    if (chip.dataset.shown === run.shown_as) continue;
    chip.dataset.shown = run.shown_as;
    chip.className = `chip chip--${run.shown_as}`;
    chip.replaceChildren(icon(run.shown_as), element("span", {}, run.label));
  }
  showConnection(runs);
  offer(new Set(runs.flatMap((run) => [...run.store.keys])));
}

/** @param {ComparedRun[]} runs */
function showConnection(runs) {
  const silent = runs.filter((run) => !run.answered).map((run) => visibleString(run.name));
  const live = runs.filter((run) => !run.isOver).length;
  const dot = byId("live");
  dot.hidden = !silent.length && !live;
  dot.dataset.state = silent.length ? "stale" : "live";
  dot.textContent = silent.length ? "no answer, retrying" : `${live} live`;
  const status = byId("compare-status");
  const words = silent.length ? `The server did not answer for ${silent.join(", ")}. Retrying.` : "";
  if (status.textContent !== words) status.textContent = words;
}

/** @param {Set<string>} names */
function offer(names) {
  const list = byId("metric-names");
  if (list.children.length >= names.size) return;
  list.replaceChildren(...[...names].sort().map((value) => element("option", { value })));
}
