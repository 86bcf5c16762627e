// Text as a drawing. Lines that the state before did not have are marked.

import { html } from "../core/html.js";
import { plural, sheet, shortened, textNodes } from "./board_sheet.js";

/** @import { Drawing } from "../types.js" */
/** @import { BoardLook } from "./board_sheet.js" */

const MOST_LINES = 1000;

/**
 * @param {Drawing} drawing
 * @param {BoardLook} look
 */
export function drawText(drawing, { previous, still }) {
  if (typeof drawing.text !== "string") return null;
  const { text } = drawing;
  const lines = text.split("\n");
  const pre = html("pre", `board-lines${isPicture(lines) ? " board-lines--picture" : ""}`);
  if (!previous || lines.length > MOST_LINES) pre.append(textNodes(text));
  else pre.append(...marked(lines, new Set(linesOf(previous))));
  return sheet("text", describeText(drawing), still, pre);
}

/** @param {Drawing} drawing */
export function describeText(drawing) {
  const lines = linesOf(drawing);
  return lines.length === 1
    ? shortened(lines[0])
    : `${plural(lines.length, "line")} of text: ${shortened(lines.join(" "))}`;
}

/**
 * @param {Drawing} previous
 * @param {Drawing} drawing
 */
export function changeOfText(previous, drawing) {
  const before = new Set(linesOf(previous));
  const fresh = linesOf(drawing).filter((line) => line.trim() && !before.has(line));
  if (previous.text === drawing.text) return "Nothing changed.";
  return fresh.length
    ? `New: ${fresh
        .slice(0, 2)
        .map((line) => shortened(line, 80))
        .join("; ")}.`
    : "Lines were removed.";
}

/**
 * Whether text is a picture of characters, whose lines must not be wrapped: three equally long ones in a row.
 * @param {string[]} lines
 */
export const isPicture = (lines) =>
  lines.some(
    ({ length }, index) => length > 2 && length === lines[index + 1]?.length && length === lines[index + 2]?.length,
  );

/** @param {Drawing} drawing */
const linesOf = ({ text }) => (typeof text === "string" ? text.split("\n") : []);

/**
 * @param {string[]} lines
 * @param {Set<string>} before
 */
const marked = (lines, before) =>
  lines.map((line, index) => {
    const span = html("span", before.has(line) ? "" : "line--changed");
    span.append(textNodes(line), index < lines.length - 1 ? "\n" : "");
    return span;
  });
