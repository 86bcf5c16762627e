// Draws an environment's state, as `Environment.drawing()` returns it: grids and arms as SVG; text, tables, cards and pages
// as HTML. Of others it says that there is no drawing. Their styles are in components/board_styles.html.

import { findAll } from "../core/dom.js";
import { changeOfArms, drawArms, describeArms } from "./board_arms.js";
import { changeOfCards, describeCards, drawCards } from "./board_cards.js";
import { changeOfGrid } from "./board_diff.js";
import { drawGrid, describeGrid } from "./board_grid.js";
import { changeOfPage, describePage, drawPage } from "./board_page.js";
import { changeOfTable, describeTable, drawTable } from "./board_table.js";
import { changeOfText, describeText, drawText } from "./board_text.js";
import { html } from "../core/html.js";

/** @import { Drawing } from "../types.js" */
/** @import { BoardLook } from "./board_sheet.js" */

/**
 * @typedef {object} Kind
 * @property {(drawing: Drawing, look: BoardLook) => Element | null} draw
 * @property {(drawing: Drawing) => string} describe
 * @property {(previous: Drawing, drawing: Drawing) => string} change
 */

/** @type {Record<string, Kind>} */
const KINDS = {
  grid: { draw: drawGrid, describe: describeGrid, change: changeOfGrid },
  arms: { draw: drawArms, describe: describeArms, change: changeOfArms },
  text: { draw: drawText, describe: describeText, change: changeOfText },
  table: { draw: drawTable, describe: describeTable, change: changeOfTable },
  cards: { draw: drawCards, describe: describeCards, change: changeOfCards },
  page: { draw: drawPage, describe: describePage, change: changeOfPage },
};

/**
 * An element that shows `drawing`. With `previous`, what changed since then is marked, and the last move drawn.
 * `labels` writes row and column numbers at the edge of a grid. A `still` one takes no focus, as on a card that is a
 * link.
 * @param {Drawing | null | undefined} drawing
 * @param {{ previous?: Drawing | null, labels?: boolean, still?: boolean }} [options]
 * @returns {Element}
 */
export function drawBoard(drawing, { previous = null, labels = false, still = false } = {}) {
  const picture = drawing && kindOf(drawing)?.draw(drawing, { previous: comparable(previous, drawing), labels, still });
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
    const still = host.closest("[aria-hidden]") !== null;
    if (source) host.replaceChildren(drawBoard(JSON.parse(source.textContent ?? "null"), { still }));
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
  if (drawing.type !== "grid") return previous;
  return previous.rows === drawing.rows && previous.columns === drawing.columns ? previous : null;
}

drawAll();
