// Describes the differences between two states of a grid: where the player went, and how cells changed.

/** @import { Cell, Drawing } from "../types.js" */

const MOST = 6; // cells that are named
/** @param {Cell} cell */
const at = ([row, column]) => `(${row}, ${column})`;

/**
 * @param {Drawing} previous
 * @param {Drawing} drawing
 */
export function changeOfGrid(previous, drawing) {
  /** @type {string[]} */
  const changes = [];
  const [from, to] = [previous.agent, drawing.agent];
  if (Array.isArray(from) && Array.isArray(to) && at(from) !== at(to)) changes.push(`player ${at(from)} → ${at(to)}`);
  const cells = changedCells(previous, drawing);
  changes.push(...cells.slice(0, MOST).map(({ at: cell, was, is }) => `${at(cell)} ${named(was)} → ${named(is)}`));
  if (cells.length > MOST) changes.push(`and ${cells.length - MOST} more cells`);
  if (previous.agent_state !== drawing.agent_state && drawing.agent_state !== "ok") {
    changes.push(named(drawing.agent_state));
  }
  return changes.length ? `Changed: ${changes.join("; ")}.` : "Nothing changed.";
}

/**
 * @param {Drawing} previous
 * @param {Drawing} drawing
 */
function changedCells(previous, drawing) {
  if (!Array.isArray(previous.cells) || !Array.isArray(drawing.cells)) return [];
  /** @type {{ at: Cell, was: string | undefined, is: string }[]} */
  const found = [];
  const { cells: former } = previous;
  drawing.cells.forEach((cells, row) => {
    if (!Array.isArray(cells)) return;
    cells.forEach((cell, column) => {
      const before = former[row]?.[column];
      if (before !== cell) found.push({ at: [row, column], was: before, is: cell });
    });
  });
  return found;
}

/** @param {string | undefined} name */
const named = (name) => String(name).replaceAll("_", " ");
