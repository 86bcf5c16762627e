// Ctrl K: pages and recent runs by name, and words in all trajectories, chosen with arrows and Enter.

import { element } from "./dom.js";

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

let places = PAGES;
let chosen = 0;

export async function openPalette() {
  const dialog = document.getElementById("palette");
  if (dialog.open) return dialog.close();
  dialog.showModal();
  const input = document.getElementById("palette-input");
  input.value = "";
  show("");
  places = [...PAGES, ...(await recentRuns())];
  show(input.value);
}

async function recentRuns() {
  try {
    const answer = await fetch("/api/v1/runs/", { headers: { Accept: "application/json" } });
    return answer.ok ? (await answer.json()).runs.map((run) => [run.name, `/runs/${run.id}/`]) : [];
  } catch {
    return [];
  }
}

function show(text) {
  const list = document.getElementById("palette-list");
  const found = places.filter(([name]) => name.toLowerCase().includes(text.toLowerCase())).slice(0, 12);
  if (text.trim()) found.push([`Find “${text.trim()}” in all trajectories`, `/trajectories/?q=${encodeURIComponent(text)}`]);
  chosen = Math.min(chosen, Math.max(0, found.length - 1));
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
            "aria-selected": index === chosen ? "true" : "false",
          },
          name,
        ),
      ),
    ),
  );
  document.getElementById("palette-input").setAttribute("aria-activedescendant", `palette-${chosen}`);
}

export function preparePalette() {
  const input = document.getElementById("palette-input");
  input?.addEventListener("input", () => {
    chosen = 0;
    show(input.value);
  });
  input?.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      chosen = Math.max(0, chosen + (event.key === "ArrowDown" ? 1 : -1));
      show(input.value);
    }
    if (event.key === "Enter") {
      event.preventDefault();
      document.querySelector('#palette-list [aria-selected="true"]')?.click();
    }
  });
}
