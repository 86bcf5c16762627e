// What every page has: theme, menu, palette, keys, fresh times, and what metrics mean.

import { keepTimesFresh } from "./format.js";
import { listen } from "./keys.js";
import { openPalette, preparePalette } from "./palette.js";
import { toast } from "./toast.js";
import { keepWideTablesReachable } from "./wide_tables.js";

const THEMES = ["system", "light", "dark"];

function turnTheme() {
  const chosen = document.documentElement.dataset.chosenTheme || "system";
  const next = THEMES[(THEMES.indexOf(chosen) + 1) % THEMES.length];
  try {
    localStorage.setItem("starboard.theme", next);
  } catch {
    /* storage is off: the choice lasts for this page */
  }
  dispatchEvent(new Event("starboard:theme"));
  toast(`Theme: ${next}`);
}

document.getElementById("theme-switch")?.addEventListener("click", turnTheme);
document.getElementById("palette-open")?.addEventListener("click", openPalette);
document.getElementById("keys-open")?.addEventListener("click", () => document.getElementById("keys").showModal());
document.getElementById("nav-menu")?.addEventListener("click", (event) => {
  const open = document.getElementById("nav-links").classList.toggle("nav-links--open");
  event.currentTarget.setAttribute("aria-expanded", String(open));
});
addEventListener("click", (event) => {
  document.querySelectorAll("details.menu[open]").forEach((menu) => {
    if (!menu.contains(event.target)) menu.open = false;
  });
});
preparePalette();
listen({ onTheme: turnTheme, onHelp: () => document.getElementById("keys").showModal(), onPalette: openPalette });
keepTimesFresh();
keepWideTablesReachable();
