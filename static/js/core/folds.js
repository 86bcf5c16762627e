// Sections that a reader folds and unfolds: this browser remembers which are open, on every page that has them.

import { find, findAll } from "./dom.js";

const KEY = "starboard.fold.";

/** @param {string} name */
function stored(name) {
  try {
    return localStorage.getItem(KEY + name);
  } catch {
    return null; // storage is switched off
  }
}

/**
 * Whether a section is open: as it was left, or else as it is given.
 * @param {string} name
 * @param {boolean} usual
 */
export const isOpen = (name, usual) => (stored(name) ?? (usual ? "open" : "closed")) === "open";

/**
 * @param {string} name
 * @param {boolean} open
 */
export function rememberFold(name, open) {
  try {
    localStorage.setItem(KEY + name, open ? "open" : "closed");
  } catch {
    // it is open or closed until the page is left
  }
}

/**
 * Every `<details data-fold="name">` under `root`. Only what a person folds is remembered.
 * @param {ParentNode} root
 */
export function prepareFolds(root) {
  for (const fold of findAll(root, "details[data-fold]", HTMLDetailsElement)) {
    const name = fold.dataset.fold ?? "";
    fold.open = isOpen(name, fold.open);
    find(fold, ":scope > summary").addEventListener("click", () => rememberFold(name, !fold.open));
  }
}
