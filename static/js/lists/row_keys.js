// j and k move through the rows of a `[data-rows]` table. Enter follows the focused link: the first of its row, or the
// one that is marked as opening it.

import { findAll, targetWithin } from "../core/dom.js";
import { withModifier } from "../core/keys.js";

/** @type {Record<string, number>} */
const STEPS = { j: 1, k: -1 };

/** @param {Element} table */
function linksOf(table) {
  return findAll(table, "tbody tr:not([data-note])").flatMap((row) => {
    const link = row.querySelector("a[data-opens]") ?? row.querySelector("a");
    return link instanceof HTMLElement ? [link] : [];
  });
}

document.addEventListener("keydown", (event) => {
  if (withModifier(event) || targetWithin(event, "input, select, textarea")) return;
  const step = STEPS[event.key];
  const table = document.querySelector("[data-rows]");
  const links = step && table ? linksOf(table) : []; // at each key: updates replace the rows
  if (!links.length) return;
  const at = links.findIndex((link) => link === document.activeElement);
  links[Math.min(Math.max(at + step, 0), links.length - 1)].focus();
  event.preventDefault();
});
