// Pages, as of a shop or an encyclopaedia: a title and blocks. Their buttons are drawn and cannot be pressed: an agent
// presses them by its actions.

import { html } from "../core/html.js";
import { isTexts, more, plural, sheet, shortened, spoken, textNodes } from "./board_sheet.js";

/** @import { Block, Drawing } from "../types.js" */
/** @import { BoardLook } from "./board_sheet.js" */

/** @typedef {{ title: string, blocks: Block[] }} Page */

const MOST = 400;
const KINDS = new Set(["heading", "text", "button", "list", "code"]);

/**
 * @param {Drawing} drawing
 * @param {BoardLook} look
 */
export function drawPage(drawing, { still }) {
  const page = pageOf(drawing);
  if (!page) return null;
  const title = html("h3", "board-page-title", {}, textNodes(page.title));
  const content = html("div", "board-page-content", {}, ...blocks(page.blocks.slice(0, MOST)));
  const left = page.blocks.length - MOST;
  if (left > 0) content.append(more(left, "blocks"));
  return sheet("page", describePage(drawing), still, title, content);
}

/** @param {Drawing} drawing */
export function describePage(drawing) {
  const page = pageOf(drawing);
  return page ? `page ${shortened(page.title)}, ${plural(page.blocks.length, "block")}` : "no drawing";
}

/**
 * @param {Drawing} previous
 * @param {Drawing} drawing
 */
export function changeOfPage(previous, drawing) {
  const [before, page] = [pageOf(previous), pageOf(drawing)];
  if (!before || !page) return "";
  if (before.title !== page.title) return `Another page: ${shortened(page.title)}.`;
  const former = new Set(before.blocks.map((block) => JSON.stringify(block)));
  const fresh = page.blocks.filter((block) => !former.has(JSON.stringify(block)));
  const starts = fresh.slice(0, 3).map((block) => shortened(textsOf(block).join(", "), 60));
  if (fresh.length) return `New: ${starts.join("; ")}.`;
  return before.blocks.length === page.blocks.length ? "Nothing changed." : "Blocks were removed.";
}

/**
 * @param {Drawing} drawing
 * @returns {Page | null}
 */
function pageOf({ title, blocks: given }) {
  return typeof title === "string" && Array.isArray(given) && given.every(isBlock) ? { title, blocks: given } : null;
}

/**
 * @param {unknown} block
 * @returns {block is Block}
 */
function isBlock(block) {
  if (typeof block !== "object" || block === null) return false;
  const { kind, text } = /** @type {Block} */ (block);
  return KINDS.has(kind) && (typeof text === "string" || isTexts(text));
}

/** @param {Block} block */
const textsOf = ({ text }) => (typeof text === "string" ? [text] : text);

/**
 * Buttons that follow each other are one row.
 * @param {Block[]} given
 */
function blocks(given) {
  /** @type {HTMLElement[]} */
  const made = [];
  for (const block of given) {
    if (block.kind !== "button") {
      made.push(...blockOf(block));
      continue;
    }
    const last = made.at(-1);
    const row = last?.matches(".board-page-buttons") ? last : html("p", "board-page-buttons");
    if (row !== last) made.push(row);
    row.append(...textsOf(block).map((text) => part("span", "board-page-button", text, block)));
  }
  return made;
}

/** @param {Block} block */
function blockOf(block) {
  const texts = textsOf(block);
  switch (block.kind) {
    case "heading":
      return texts.map((text) => part("h4", "board-page-heading", text, block));
    case "list":
      return [html("ul", "board-page-list", {}, ...texts.map((text) => part("li", "", text, block)))];
    case "code":
      return [part("pre", "board-page-code", texts.join("\n"), block)];
    default:
      return texts.map((text) => part("p", "board-page-text", text, block));
  }
}

/**
 * @param {"h4" | "li" | "p" | "pre" | "span"} tag
 * @param {string} name
 * @param {string} text
 * @param {Block} block
 */
function part(tag, name, text, { state }) {
  const chosen = state === "chosen";
  const made = html(tag, [name, chosen && "board-page--chosen"].filter(Boolean).join(" "), {}, textNodes(text));
  if (chosen) made.append(spoken("chosen"));
  return made;
}
