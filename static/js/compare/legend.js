// The runs above the charts: which there are, which are shown, how they stand; and the choice of others.

import { element, icon } from "../core/dom.js";
import { readable } from "./view_state.js";
import { visibleString } from "../core/visible_text.js";

const byId = (id) => document.getElementById(id);
const entryOf = (run) => document.querySelector(`[data-run="${run.id}"]`);

// To other runs, with all else as it is. Those that stay keep their place and colour.
function visit(ids) {
  const address = new URL(location.href);
  const there = [...document.querySelectorAll("[data-run]")].filter((entry) => ids.includes(entry.dataset.run));
  const stay = there.map((entry) => entry.dataset.run);
  const hidden = (address.searchParams.get("hidden") ?? "").split(",").filter((id) => stay.includes(id));
  address.searchParams.set("runs", [...stay, ...ids.filter((id) => !stay.includes(id))].join(","));
  set(address, "colours", there.map((entry) => entry.dataset.colour).join(","));
  set(address, "hidden", hidden.join(","));
  location.assign(readable(address));
}

function set(address, name, value) {
  if (value) address.searchParams.set(name, value);
  else address.searchParams.delete(name);
}

export function prepareChoice() {
  byId("run-choice")?.addEventListener("submit", (event) => {
    event.preventDefault();
    visit([...event.target.querySelectorAll("input:checked")].map((input) => input.value));
  });
}

/** `onToggle(id)` when somebody shows or hides a run. */
export function prepareLegend(view, runs, onToggle) {
  for (const run of runs) {
    const entry = entryOf(run);
    entry.querySelector("[data-toggle]").addEventListener("click", () => onToggle(run.id));
    const others = runs.map(({ id }) => id).filter((id) => id !== run.id);
    entry.querySelector("[data-remove]").addEventListener("click", () => visit(others));
  }
  showLegend(runs, view);
}

export function showLegend(runs, view) {
  for (const run of runs)
    entryOf(run)
      .querySelector("[data-toggle]")
      .setAttribute("aria-pressed", String(!view.hidden.includes(run.id)));
  const seeds = byId("compare-seeds");
  seeds.disabled = view.axis === "time" || !runs.some((run) => run.group !== null);
}

/** How the runs stand, what could not be asked, and which metrics there are. */
export function showNews(runs) {
  for (const run of runs) {
    const entry = entryOf(run);
    const chip = entry.querySelector(".chip");
    entry.querySelector("[data-step]").textContent = `step ${run.step}`;
    if (chip.dataset.shown === run.shown_as) continue;
    chip.dataset.shown = run.shown_as;
    chip.className = `chip chip--${run.shown_as}`;
    chip.replaceChildren(icon(run.shown_as), element("span", {}, run.label));
  }
  showLive(runs);
  offer(new Set(runs.flatMap((run) => [...run.store.keys])));
}

function showLive(runs) {
  const silent = runs.filter((run) => !run.answered).map((run) => visibleString(run.name));
  const live = runs.filter((run) => !run.isOver).length;
  const dot = byId("live");
  dot.hidden = !silent.length && !live;
  dot.dataset.state = silent.length ? "stale" : "live";
  dot.textContent = silent.length ? "no answer, asking again" : `${live} live`;
  const status = byId("compare-status");
  const words = silent.length ? `The server did not answer for ${silent.join(", ")}. It is asked again.` : "";
  if (status.textContent !== words) status.textContent = words;
}

function offer(names) {
  const list = byId("metric-names");
  if (list.children.length >= names.size) return;
  list.replaceChildren(...[...names].sort().map((value) => element("option", { value })));
}
