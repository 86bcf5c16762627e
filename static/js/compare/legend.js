// The runs above the charts: which are shown, and their states; and the form that adds others.

import { byId, element, find, findAll, icon } from "../core/dom.js";
import { setQuery } from "../run/view_state.js";
import { readable } from "./view_state.js";
import { visibleString } from "../core/visible_text.js";

/** @import { CompareView } from "./view_state.js" */
/** @import { ComparedRun } from "./compared_runs.js" */

/** @param {ComparedRun} run */
const entryOf = (run) => find(document, `[data-run="${run.id}"]`);

/**
 * Opens the comparison of other runs, all else as it is. Runs that stay keep their order.
 * @param {string[]} ids
 */
function visit(ids) {
  const address = new URL(location.href);
  const kept = findAll(document, "[data-run]").filter((entry) => ids.includes(entry.dataset.run ?? ""));
  const stay = kept.map((entry) => entry.dataset.run ?? "");
  const hidden = (address.searchParams.get("hidden") ?? "").split(",").filter((id) => stay.includes(id));
  address.searchParams.set("runs", [...stay, ...ids.filter((id) => !stay.includes(id))].join(","));
  setQuery(address, "hidden", hidden.join(","));
  location.assign(readable(address));
}

export function prepareChoice() {
  const [form] = findAll(document, "#run-choice");
  form?.addEventListener("submit", (event) => {
    event.preventDefault();
    visit(findAll(form, "input:checked", HTMLInputElement).map((input) => input.value));
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
    find(entry, "[data-remove]").addEventListener("click", () => visit(others));
  }
  showLegend(runs, view);
}

/**
 * @param {ComparedRun[]} runs
 * @param {CompareView} view
 */
export function showLegend(runs, view) {
  for (const run of runs) {
    find(entryOf(run), "[data-toggle]").setAttribute("aria-pressed", String(!view.hidden.includes(run.id)));
  }
  const seeds = byId("compare-seeds", HTMLInputElement);
  seeds.disabled = view.axis === "time" || !runs.some((run) => run.group !== null);
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
