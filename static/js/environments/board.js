// Draws an environment's state, as `Environment.drawing()` returns it, as SVG: the types `grid` and `arms`; of others it
// says that there is no drawing. Colours are in board.css.

import { findAll } from "../core/dom.js";
import { changeOfArms, drawArms, describeArms } from "./board_arms.js";
import { changeOfGrid } from "./board_diff.js";
import { drawGrid, describeGrid } from "./board_grid.js";
import { html } from "../core/html.js";

/** @import { Drawing } from "../types.js" */

/** @typedef {{ previous: Drawing | null, labels: boolean }} BoardLook */

/**
 * @typedef {object} Kind
 * @property {(drawing: Drawing, look: BoardLook) => SVGElement | null} draw
 * @property {(drawing: Drawing) => string} describe
 * @property {(previous: Drawing, drawing: Drawing) => string} change
 */

/** @type {Record<string, Kind>} */
const KINDS = {
  grid: { draw: drawGrid, describe: describeGrid, change: changeOfGrid },
  arms: { draw: drawArms, describe: describeArms, change: changeOfArms },
};

/**
 * An element that shows `drawing`. With `previous`, what changed since then is marked, and the last move drawn.
 * `labels` writes row and column numbers at the edge of a grid.
 * @param {Drawing | null | undefined} drawing
 * @param {{ previous?: Drawing | null, labels?: boolean }} [options]
 * @returns {Element}
 */
export function drawBoard(drawing, { previous = null, labels = false } = {}) {
  const picture = drawing && kindOf(drawing)?.draw(drawing, { previous: comparable(previous, drawing), labels });
  if (!picture) return html("p", "board-missing muted", { textContent: "This state has no drawing." });
  return picture;
}

/**
 * Describes the drawing.
 * @param {Drawing | null | undefined} drawing
 */
export function describeBoard(drawing) {
  return (drawing && kindOf(drawing)?.describe(drawing)) ?? "no drawing";
}

/**
 * Describes how `drawing` differs from `previous`; empty if they cannot be compared.
 * @param {Drawing | null | undefined} previous
 * @param {Drawing} drawing
 */
export function describeChange(previous, drawing) {
  const before = comparable(previous, drawing);
  return (before && kindOf(drawing)?.change(before, drawing)) ?? "";
}

/**
 * Draws every `[data-board]` below `root`: its value is the id of a JSON script that holds the drawing.
 * @param {ParentNode} [root]
 */
export function drawAll(root = document) {
  for (const host of findAll(root, "[data-board]")) {
    const source = document.getElementById(host.dataset.board ?? "");
    if (source) host.replaceChildren(drawBoard(JSON.parse(source.textContent ?? "null")));
  }
}

/** @param {Drawing} drawing */
const kindOf = ({ type }) => (Object.hasOwn(KINDS, type) ? KINDS[type] : null);

/**
 * @param {Drawing | null | undefined} previous
 * @param {Drawing} drawing
 */
function comparable(previous, drawing) {
  if (!previous || previous.type !== drawing.type) return null;
  return previous.rows === drawing.rows && previous.columns === drawing.columns ? previous : null;
}

drawAll();
