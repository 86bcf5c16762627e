// Ctrl K: pages, actions, runs, presets and metrics by name, and words in all trajectories; arrows and Enter select.

import { byId, element, find, icon } from "./dom.js";
import { PAGES, actionsHere, found } from "./palette_entries.js";

/** @import { RunState } from "../types.js" */
/** @import { Entry } from "./palette_entries.js" */

const MOST = 24;

const RECENT = 8; // runs that are shown before anything is typed

let entries = PAGES;
let selected = 0;
let complete = Promise.resolve(); // once the entries from the server are there

export function openPalette() {
  const dialog = byId("palette", HTMLDialogElement);
  if (dialog.open) return void dialog.close();
  dialog.showModal();
  const input = byId("palette-input", HTMLInputElement);
  input.value = "";
  const { buttons, tabs } = actionsHere();
  entries = [...PAGES, ...buttons, ...tabs]; // a page first: Enter alone must stop no run
  show("");
  complete = found().then(({ runs, others }) => {
    entries = [...PAGES, ...runs.slice(0, RECENT), ...buttons, ...tabs, ...runs.slice(RECENT), ...others];
    show(input.value);
  });
}

/**
 * The entries that have all the words, those that begin with the first one before the others.
 * @param {string} text
 */
function matching(text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const having = entries.filter(({ name }) => words.every((word) => name.toLowerCase().includes(word)));
  const begins = (/** @type {Entry} */ { name }) => words.length > 0 && name.toLowerCase().startsWith(words[0]);
  return [...having.filter(begins), ...having.filter((one) => !begins(one))].slice(0, MOST);
}

/** @param {string} text */
function show(text) {
  const list = byId("palette-list");
  const shown = matching(text);
  if (text.trim()) {
    const address = `/trajectories/?q=${encodeURIComponent(text)}`;
    shown.push({ name: `Find “${text.trim()}” in all trajectories`, kind: "Search", address });
  }
  selected = Math.min(selected, Math.max(0, shown.length - 1));
  list.replaceChildren(...shown.map((entry, index) => element("li", { role: "presentation" }, option(entry, index))));
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

/**
 * @param {Entry} entry
 * @param {number} index
 */
function option({ name, kind, address, act, run }, index) {
  const made = element(
    "a",
    {
      class: "menu-item",
      id: `palette-${index}`,
      href: address ?? "#",
      role: "option",
      tabindex: -1,
      "aria-selected": index === selected ? "true" : "false",
    },
    element("span", { class: "palette-name" }, name),
    ...(run ? chips(run) : [element("small", { class: "muted" }, kind)]),
  );
  made.addEventListener("click", (event) => {
    byId("palette", HTMLDialogElement).close();
    if (!act) return; // the link
    event.preventDefault();
    act();
  });
  return made;
}

/** Whoever types faster than the server responds gets what they typed, not the search that is offered meanwhile. */
async function select() {
  await complete;
  if (byId("palette", HTMLDialogElement).open) find(document, '#palette-list [aria-selected="true"]').click();
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
      void select();
    }
  });
}
