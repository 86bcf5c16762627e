// Ctrl K: pages and recent runs by name, and words in all trajectories, selected with arrows and Enter.

import { byId, element, find, icon } from "./dom.js";

/** @import { RunState } from "../types.js" */
/** @typedef {[name: string, address: string, run?: RunState]} Entry */

/** @type {Entry[]} */
const PAGES = [
  ["Runs", "/runs/"],
  ["New run", "/runs/new/"],
  ["Trajectories of all runs", "/trajectories/"],
  ["Environments", "/environments/"],
  ["New environment", "/environments/new/"],
  ["Leaderboard", "/leaderboard/"],
  ["Compare", "/compare/"],
  ["Style guide", "/styleguide/"],
];

/** @type {Entry[]} */
let entries = PAGES;
let selected = 0;

export async function openPalette() {
  const dialog = byId("palette", HTMLDialogElement);
  if (dialog.open) return dialog.close();
  dialog.showModal();
  const input = byId("palette-input", HTMLInputElement);
  input.value = "";
  show("");
  entries = [...PAGES, ...(await recentRuns())];
  show(input.value);
}

/** @returns {Promise<Entry[]>} */
async function recentRuns() {
  try {
    const answer = await fetch("/api/v1/runs/", { headers: { Accept: "application/json" } });
    if (!answer.ok) return [];
    /** @type {{ runs: RunState[] }} */
    const { runs } = await answer.json();
    return runs.map((run) => [run.name, `/runs/${run.id}/`, run]);
  } catch {
    return [];
  }
}

/** @param {string} text */
function show(text) {
  const list = byId("palette-list");
  const found = entries.filter(([name]) => name.toLowerCase().includes(text.toLowerCase())).slice(0, 12);
  if (text.trim()) {
    found.push([`Find “${text.trim()}” in all trajectories`, `/trajectories/?q=${encodeURIComponent(text)}`]);
  }
  selected = Math.min(selected, Math.max(0, found.length - 1));
  list.replaceChildren(
    ...found.map(([name, address, run], index) =>
      element(
        "li",
        { role: "presentation" },
        element(
          "a",
          {
            class: "menu-item",
            id: `palette-${index}`,
            href: address,
            role: "option",
            tabindex: -1,
            "aria-selected": index === selected ? "true" : "false",
          },
          element("span", { class: "palette-name" }, name),
          ...(run ? chips(run) : []),
        ),
      ),
    ),
  );
  byId("palette-input").setAttribute("aria-activedescendant", `palette-${selected}`);
}

/**
 * The state of a run, and its health where that says more.
 * @param {RunState} run
 */
function chips({ shown_as: shownAs, label, health }) {
  const shown = [chip(shownAs, label, icon(shownAs))];
  if (health && health.label !== shownAs) shown.push(chip(health.level, health.title));
  return shown;
}

/**
 * @param {string} key
 * @param {string} words
 * @param {Node[]} before
 */
const chip = (key, words, ...before) => element("span", { class: `chip chip--${key}` }, ...before, words);

export function preparePalette() {
  const input = document.getElementById("palette-input");
  if (!(input instanceof HTMLInputElement)) return;
  input.addEventListener("input", () => {
    selected = 0;
    show(input.value);
  });
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      selected = Math.max(0, selected + (event.key === "ArrowDown" ? 1 : -1));
      show(input.value);
    }
    // the first Escape in a search field only empties it
    if (event.key === "Escape") {
      event.preventDefault();
      byId("palette", HTMLDialogElement).close();
    }
    if (event.key === "Enter") {
      event.preventDefault();
      find(document, '#palette-list [aria-selected="true"]').click();
    }
  });
}
