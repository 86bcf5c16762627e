// Tables, and boards of tiles: a table without a header whose cells are short, such as a Sudoku or 2048.

import { html } from "../core/html.js";
import { isTexts, more, plural, sheet, spoken, textNodes } from "./board_sheet.js";

/** @import { Drawing } from "../types.js" */
/** @import { BoardLook } from "./board_sheet.js" */

/** @typedef {{ columns: string[], rows: string[][], caption: string }} Table */

const MOST_ROWS = 200;
const MOST_COLUMNS = 60;
const LONGEST_TILE = 5; // characters
const MOST_NAMED = 6; // changed cells that are named
/** @type {Record<string, string>} words of marks that say something; the others only colour what the text says */
const MARKS = { good: "good", bad: "bad", given: "given", new: "new" };
const SHADES = new Set(
  ["white", "yellow", "red", "orange", "green", "blue"].concat(
    [1, 2, 3, 4, 5, 6, 7, 8].map((level) => `level-${level}`),
  ),
);

/**
 * @param {Drawing} drawing
 * @param {BoardLook} look
 */
export function drawTable(drawing, { previous, still }) {
  const table = tableOf(drawing);
  if (!table) return null;
  const before = previous && tableOf(previous);
  const tiles = isTiles(table);
  const made = html("table", `board-table${tiles ? " board-table--tiles" : ""}`);
  if (tiles) measure(made, table);
  made.append(
    html("caption", table.caption ? "" : "visually-hidden", {}, textNodes(table.caption || describeTable(drawing))),
  );
  if (table.columns.length) made.append(header(table.columns));
  made.append(body(table, marksOf(drawing), before, boxesOf(drawing)));
  const left = table.rows.length - MOST_ROWS;
  return sheet("tablebox", describeTable(drawing), still, made, ...(left > 0 ? [more(left, "rows")] : []));
}

/** @param {Drawing} drawing */
export function describeTable(drawing) {
  const table = tableOf(drawing);
  if (!table) return "no drawing";
  const width = table.rows[0]?.length ?? table.columns.length;
  const size = `table of ${plural(table.rows.length, "row")} and ${plural(width, "column")}`;
  return table.caption ? `${table.caption}: ${size}` : size;
}

/**
 * @param {Drawing} previous
 * @param {Drawing} drawing
 */
export function changeOfTable(previous, drawing) {
  const [before, table] = [tableOf(previous), tableOf(drawing)];
  if (!before || !table) return "";
  /** @type {string[]} */
  const changes = [];
  table.rows.forEach((cells, row) => {
    cells.forEach((cell, column) => {
      const was = before.rows[row]?.[column];
      if (was === cell) return;
      const cellName = `row ${row + 1}, ${table.columns[column] || `column ${column + 1}`}`;
      changes.push(`${cellName}: ${was || "empty"} → ${cell || "empty"}`);
    });
  });
  const removed = before.rows.length - table.rows.length;
  if (removed > 0) changes.push(`${plural(removed, "row")} removed`);
  if (!changes.length) return "Nothing changed.";
  const rest = changes.length > MOST_NAMED ? `; and ${changes.length - MOST_NAMED} more cells` : "";
  return `Changed: ${changes.slice(0, MOST_NAMED).join("; ")}${rest}.`;
}

/**
 * @param {Drawing} drawing
 * @returns {Table | null}
 */
function tableOf({ columns, rows, caption }) {
  if (!isTexts(columns) || !Array.isArray(rows) || !rows.every(isTexts)) return null;
  if (columns.length > MOST_COLUMNS || rows.some((row) => row.length > MOST_COLUMNS)) return null;
  return { columns, rows, caption: typeof caption === "string" ? caption : "" };
}

/** @param {Table} table */
const isTiles = ({ columns, rows }) =>
  !columns.length && rows.length > 1 && rows.every((row) => row.every((cell) => cell.length <= LONGEST_TILE));

/**
 * What the styles need to make the tiles square and their text fit.
 * @param {HTMLElement} made
 * @param {Table} table
 */
function measure(made, { rows, caption }) {
  made.style.setProperty("--columns", String(rows[0].length || 1));
  made.style.setProperty("--rows", String(rows.length));
  if (caption) made.classList.add("board-table--captioned");
  made.style.setProperty("--characters", String(Math.max(2, ...rows.flat().map((cell) => cell.length))));
}

/** @param {string[]} columns */
function header(columns) {
  const row = html("tr");
  for (const name of columns) row.append(html("th", "", { scope: "col" }, textNodes(name)));
  return html("thead", "", {}, row);
}

/**
 * @param {Table} table
 * @param {Map<string, string>} marks
 * @param {Table | null} before
 * @param {[number, number] | null} boxes
 */
function body({ rows }, marks, before, boxes) {
  const made = html("tbody");
  rows.slice(0, MOST_ROWS).forEach((cells, row) => {
    const line = html("tr");
    cells.forEach((text, column) => {
      const mark = marks.get(`${row},${column}`) ?? "";
      const changed = before !== null && before.rows[row]?.[column] !== text;
      const edges = boxes ? edgesOf(row, column, boxes) : "";
      const cell = html(
        "td",
        [mark && `board-cell--${mark}`, changed && "board-cell--changed", edges].filter(Boolean).join(" "),
      );
      cell.append(textNodes(text));
      if (Object.hasOwn(MARKS, mark)) cell.append(spoken(MARKS[mark]));
      line.append(cell);
    });
    made.append(line);
  });
  return made;
}

/**
 * @param {number} row
 * @param {number} column
 * @param {[number, number]} boxes
 */
function edgesOf(row, column, [height, width]) {
  const top = row > 0 && row % height === 0 ? "board-cell--box-top" : "";
  const left = column > 0 && column % width === 0 ? "board-cell--box-left" : "";
  return [top, left].filter(Boolean).join(" ");
}

/** @param {Drawing} drawing */
function marksOf({ marks }) {
  /** @type {Map<string, string>} */
  const found = new Map();
  for (const mark of Array.isArray(marks) ? marks : []) {
    if (!Array.isArray(mark)) continue;
    const [row, column, name] = mark;
    if (Object.hasOwn(MARKS, name) || SHADES.has(name)) found.set(`${row},${column}`, name);
  }
  return found;
}

/**
 * @param {Drawing} drawing
 * @returns {[number, number] | null}
 */
function boxesOf({ boxes }) {
  if (!Array.isArray(boxes) || boxes.length !== 2) return null;
  const [height, width] = boxes;
  return Number.isInteger(height) && Number.isInteger(width) && height > 0 && width > 0 ? [height, width] : null;
}
