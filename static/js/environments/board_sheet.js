// What drawings of text share: a box that scrolls, text of limited length, and what is checked before it is drawn.

import { html } from "../core/html.js";
import { visible, visibleText } from "../core/visible_text.js";

/** @import { Drawing } from "../types.js" */

/** @typedef {{ previous: Drawing | null, labels: boolean, still: boolean }} BoardLook */

const LONGEST = 12_000; // characters of one text that are drawn

/**
 * A box of at most the height that its place leaves it; longer content scrolls inside. A still one, as on a card that
 * is a link, takes no focus.
 * @param {string} name
 * @param {string} label
 * @param {boolean} still
 * @param {...Node} children
 */
export function sheet(name, label, still, ...children) {
  const box = html("div", `board-sheet board-${name}`, { dir: "ltr" }, ...children);
  if (still) return box;
  box.setAttribute("role", "group");
  box.setAttribute("aria-label", visible(label));
  box.tabIndex = 0;
  return box;
}

/**
 * `text` as nodes, with a note of how much is left out of very long ones.
 * @param {string} text
 */
export function textNodes(text) {
  const fragment = document.createDocumentFragment();
  fragment.append(visibleText(text.slice(0, LONGEST)));
  const left = text.length - LONGEST;
  if (left > 0) fragment.append(more(left, "characters"));
  return fragment;
}

/**
 * @param {number} count
 * @param {string} what
 */
export const more = (count, what) =>
  html("span", "board-more", { textContent: ` … ${count.toLocaleString("en")} more ${what}` });

/**
 * A word for those who do not see the colour.
 * @param {string} word
 */
export const spoken = (word) => html("span", "visually-hidden", { textContent: ` (${word})` });

/**
 * @param {unknown} value
 * @returns {value is string[]}
 */
export const isTexts = (value) => Array.isArray(value) && value.every((one) => typeof one === "string");

/**
 * @param {number} count
 * @param {string} word
 */
export const plural = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;

/**
 * The start of a text on one line, for descriptions.
 * @param {string} text
 */
export function shortened(text, length = 120) {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > length ? `${line.slice(0, length - 1)}…` : line;
}
