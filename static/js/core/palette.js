// Ctrl K: pages and recent runs by name, and words in all trajectories, selected with arrows and Enter.

import { byId, element, find } from "./dom.js";

/** @type {[name: string, address: string][]} */
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

/** @type {[name: string, address: string][]} */
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

/** @returns {Promise<[name: string, address: string][]>} */
async function recentRuns() {
  try {
    const answer = await fetch("/api/v1/runs/", { headers: { Accept: "application/json" } });
    if (!answer.ok) return [];
    /** @type {{ runs: { name: string, id: string }[] }} */
    const { runs } = await answer.json();
    return runs.map((run) => [run.name, `/runs/${run.id}/`]);
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
    ...found.map(([name, address], index) =>
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
          name,
        ),
      ),
    ),
  );
  byId("palette-input").setAttribute("aria-activedescendant", `palette-${selected}`);
}

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
