// Keyboard shortcuts of every page: g then a letter goes to a page, t changes the theme, ? shows the list.

import { find } from "./dom.js";

/** @typedef {Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "altKey">} Press */

/** @type {Record<string, string>} */
const PAGES = {
  r: "/runs/",
  s: "/sweeps/",
  q: "/queue/",
  t: "/trajectories/",
  e: "/environments/",
  l: "/leaderboard/",
  c: "/compare/",
};
const AFTER_G = 1200; // milliseconds in which a letter after g goes to a page

/** @type {Record<string, "theme" | "help" | "filter">} */
const ACTIONS = { t: "theme", "?": "help", "/": "filter" };

/** @param {Event} event */
export function isTyping(event) {
  const at = event.target;
  return at instanceof HTMLElement && (at.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(at.tagName));
}

/** @param {Press} press */
export const withModifier = ({ ctrlKey, metaKey, altKey }) => ctrlKey || metaKey || altKey;

/** @param {Press} press */
export const opensPalette = ({ key, ctrlKey, metaKey }) => (ctrlKey || metaKey) && key.toLowerCase() === "k";

/**
 * What a key without modifiers means: the address of a page, or an action; null for neither.
 * @param {string} key
 * @param {number} sinceG milliseconds since g was pressed
 */
export function shortcut(key, sinceG) {
  if (sinceG < AFTER_G && Object.hasOwn(PAGES, key)) return { address: PAGES[key] };
  return Object.hasOwn(ACTIONS, key) ? { action: ACTIONS[key] } : null;
}

/** @param {{ onTheme: () => void, onHelp: () => void, onPalette: () => void }} options */
export function listen({ onTheme, onHelp, onPalette }) {
  let pressedG = 0; // when, in milliseconds
  addEventListener("keydown", (event) => {
    if (opensPalette(event)) {
      event.preventDefault();
      onPalette();
      return;
    }
    if (isTyping(event) || withModifier(event) || document.querySelector("dialog[open]")) return;
    const found = shortcut(event.key, Date.now() - pressedG);
    pressedG = event.key === "g" ? Date.now() : 0;
    if (found?.address) location.assign(found.address);
    if (found?.action === "theme") onTheme();
    if (found?.action === "help" && !event.defaultPrevented && !document.querySelector("[data-own-help]")) onHelp();
    if (found?.action === "filter" && document.querySelector("[data-filter]")) {
      event.preventDefault();
      find(document, "[data-filter]").focus();
    }
  });
}
