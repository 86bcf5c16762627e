// The settings of a run beyond the essential ones: found by words, counted where they differ from the preset.

import { byId, findAll } from "../core/dom.js";

const form = byId("run-form", HTMLFormElement);
const words = byId("settings-filter", HTMLInputElement);
const onlyChanged = byId("settings-changed", HTMLInputElement);
const sections = findAll(form, "details.config-section", HTMLDetailsElement);
/** @type {Map<HTMLDetailsElement, boolean> | null} which were open before something was searched for */
let before = null;

/** @param {HTMLElement} field */
const isFound = (field) => {
  const input = field.querySelector("input, select, textarea");
  const name = input instanceof HTMLElement && "name" in input ? String(input.name) : "";
  const text = `${name.replaceAll("_", " ")} ${name} ${field.textContent}`.toLowerCase();
  const wanted = words.value.trim().toLowerCase().split(/\s+/);
  return wanted.every((word) => text.includes(word)) && (!onlyChanged.checked || isChanged(field));
};

/** @param {Element} field */
const isChanged = (field) => field.classList.contains("field--changed") && !field.closest("fieldset:disabled");

function filter() {
  const searching = Boolean(words.value.trim()) || onlyChanged.checked;
  if (searching) before ??= new Map(sections.map((section) => [section, section.open]));
  let total = 0;
  for (const section of sections) {
    const title = section.querySelector("summary")?.textContent?.toLowerCase() ?? "";
    const whole =
      Boolean(words.value.trim()) && !onlyChanged.checked && title.includes(words.value.trim().toLowerCase());
    let found = 0;
    for (const field of findAll(section, ".field", HTMLElement)) {
      field.hidden = searching && !whole && !isFound(field);
      if (!field.hidden && !field.closest("fieldset:disabled")) found += 1;
    }
    section.hidden = searching && !found;
    section.open = searching ? found > 0 : (before?.get(section) ?? section.open);
    total += found;
  }
  if (!searching) before = null;
  byId("settings-none").hidden = total > 0;
}

function count() {
  for (const section of sections) {
    const changed = findAll(section, ".field--changed", HTMLElement).filter(isChanged).length;
    const badge = section.querySelector(".settings-count");
    if (!(badge instanceof HTMLElement)) continue;
    badge.hidden = changed === 0;
    badge.textContent = `${changed} changed`;
  }
}

words.addEventListener("input", filter);
onlyChanged.addEventListener("input", filter);
words.addEventListener("keydown", (event) => {
  if (event.key === "Enter") event.preventDefault(); // it searches, and launches nothing
});
form.addEventListener("input", () => queueMicrotask(count));
count();
