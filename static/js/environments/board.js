// Draws an environment's state, as `Environment.drawing()` gives it, as SVG.
//
// It knows the types `grid` and `arms`. What it cannot draw it says in words. Colours live in board.css.

import { changeOfArms, drawArms, describeArms } from "./board_arms.js";
import { changeOfGrid } from "./board_diff.js";
import { drawGrid, describeGrid } from "./board_grid.js";
import { html } from "../core/html.js";

const KINDS = {
  grid: { draw: drawGrid, describe: describeGrid, change: changeOfGrid },
  arms: { draw: drawArms, describe: describeArms, change: changeOfArms },
};

/**
 * An element that shows `drawing`. With `previous`, what changed since then is marked, and the last move drawn.
 * `labels` writes row and column numbers at the edge of a grid.
 */
export function drawBoard(drawing, { previous = null, labels = false } = {}) {
  const kind = drawing && Object.hasOwn(KINDS, drawing.type) ? KINDS[drawing.type] : null;
  const picture = kind && kind.draw(drawing, { previous: comparable(previous, drawing), labels });
  if (!picture) return html("p", "board-missing muted", { textContent: "This state has no drawing." });
  return picture;
}

/** What the drawing shows, in words. */
export function describeBoard(drawing) {
  const kind = drawing && Object.hasOwn(KINDS, drawing.type) ? KINDS[drawing.type] : null;
  return kind ? kind.describe(drawing) : "no drawing";
}

/** What is different in `drawing` from `previous`, in words; empty for what cannot be compared. */
export function describeChange(previous, drawing) {
  const kind = drawing && Object.hasOwn(KINDS, drawing.type) ? KINDS[drawing.type] : null;
  const before = kind && comparable(previous, drawing);
  return before ? kind.change(before, drawing) : "";
}

/** Puts the drawing in place of what `host` shows. */
export function showBoard(host, drawing, options) {
  host.replaceChildren(drawBoard(drawing, options));
}

/** Draws every `[data-board]` below `root`: its value is the id of a JSON script that holds the drawing. */
export function drawAll(root = document) {
  for (const host of root.querySelectorAll("[data-board]")) {
    const source = document.getElementById(host.dataset.board);
    if (source) showBoard(host, JSON.parse(source.textContent));
  }
}

function comparable(previous, drawing) {
  const same = previous && previous.type === drawing.type;
  return same && previous.rows === drawing.rows && previous.columns === drawing.columns ? previous : null;
}

drawAll();
