// What every page has: theme, menu, palette, keys, fresh times, and what metrics mean.

import { byId, findAll } from "./dom.js";
import { keepTimesFresh } from "./format.js";
import { listen } from "./keys.js";
import { leaveOutEmptyFields } from "./get_forms.js";
import { openPalette, preparePalette } from "./palette.js";
import { nextTheme } from "./themes.js";
import { toast } from "./toast.js";
import { keepWideTablesReachable } from "./wide_tables.js";

function turnTheme() {
  const chosen = document.documentElement.dataset.chosenTheme ?? "system";
  const next = nextTheme(chosen, matchMedia("(prefers-color-scheme: dark)").matches);
  try {
    localStorage.setItem("starboard.theme", next);
  } catch {
    /* storage is off: the choice lasts for this page */
  }
  dispatchEvent(new Event("starboard:theme"));
  toast(`Theme: ${next}`);
}

const showKeys = () => byId("keys", HTMLDialogElement).showModal();

document.getElementById("theme-switch")?.addEventListener("click", turnTheme);
document.getElementById("palette-open")?.addEventListener("click", openPalette);
document.getElementById("keys-open")?.addEventListener("click", showKeys);
document.getElementById("nav-menu")?.addEventListener("click", () => {
  const open = byId("nav-links").classList.toggle("nav-links--open");
  byId("nav-menu").setAttribute("aria-expanded", String(open));
});
addEventListener("click", (event) => {
  for (const menu of findAll(document, "details.menu[open]", HTMLDetailsElement)) {
    if (event.target instanceof Node && !menu.contains(event.target)) menu.open = false;
  }
});
preparePalette();
listen({ onTheme: turnTheme, onHelp: showKeys, onPalette: openPalette });
keepTimesFresh();
leaveOutEmptyFields();
keepWideTablesReachable();
