// Grids: frozen lakes and warehouses. One cell is 40 units; pieces are drawn around the middle of their cell.

import { svg } from "../core/html.js";

/** @import { Cell, Drawing } from "../types.js" */

const UNIT = 40;
const LARGEST = 64;
const MARGIN = 18;

/** @typedef {Drawing & { rows: number, columns: number, cells: string[][] }} Grid */

/** @type {Record<string, () => SVGElement[]>} */
const PIECES = { wall, hole, goal, start, target, box, box_on_target: boxOnTarget };
/** @type {Record<string, string>} */
const NAMES = {
  wall: "wall",
  hole: "hole",
  goal: "goal",
  start: "start",
  target: "target",
  box: "box",
  box_on_target: "box on a target",
};

/**
 * @param {Drawing} drawing
 * @param {{ previous: Drawing | null, labels: boolean }} options
 */
export function drawGrid(drawing, { previous, labels }) {
  if (!isGrid(drawing)) return null;
  const { rows, columns, cells } = drawing;
  const edge = labels ? MARGIN : 0;
  const icy = cells.flat().some((name) => name === "hole" || name === "goal" || name === "start");
  const root = svg("svg", {
    class: `board-svg ${icy ? "board-svg--ice" : "board-svg--room"}`,
    viewBox: `${-edge - 2} ${-edge - 2} ${columns * UNIT + edge + 4} ${rows * UNIT + edge + 4}`,
    role: "img",
  });
  root.append(svg("title", {}, describeGrid(drawing)));
  if (labels) root.append(edgeLabels(rows, columns));
  for (const [row, column, name] of eachCell(drawing)) root.append(drawCell(row, column, name));
  if (previous && isGrid(previous)) root.append(...changes(previous, drawing));
  if (isCell(drawing.agent)) root.append(player(drawing.agent, drawing.agent_state));
  return root;
}

/** @param {Drawing} drawing */
export function describeGrid(drawing) {
  if (!isGrid(drawing)) return "no drawing";
  /** @type {Record<string, string[]>} */
  const cells = {};
  for (const [row, column, name] of eachCell(drawing)) {
    if (Object.hasOwn(NAMES, name) && name !== "wall") (cells[name] ??= []).push(`(${row}, ${column})`);
  }
  const parts = Object.entries(cells).map(([name, where]) => `${NAMES[name]} at ${where.join(" ")}`);
  /** @type {Record<string, string>} */
  const state = { in_hole: ", in a hole", on_goal: ", on the goal", on_target: ", on a target" };
  if (isCell(drawing.agent)) {
    parts.unshift(`player at (${drawing.agent.join(", ")})${state[drawing.agent_state ?? ""] ?? ""}`);
  }
  return `${drawing.rows} by ${drawing.columns} grid, as (row, column): ${parts.join("; ")}`;
}

/**
 * @param {Drawing} drawing
 * @returns {drawing is Grid}
 */
function isGrid(drawing) {
  const { rows, columns, cells } = drawing;
  return isSize(rows) && isSize(columns) && Array.isArray(cells) && cells.every(Array.isArray);
}

/** @param {unknown} size */
const isSize = (size) => Number.isInteger(size) && Number(size) > 0 && Number(size) <= LARGEST;

/**
 * @param {Cell | undefined} cell
 * @returns {cell is Cell}
 */
function isCell(cell) {
  return Array.isArray(cell) && cell.length === 2 && cell.every(Number.isInteger);
}

/**
 * @param {Grid} grid
 * @returns {Generator<[row: number, column: number, name: string]>}
 */
function* eachCell({ rows, columns, cells }) {
  for (let row = 0; row < rows; row += 1) {
    for (let column = 0; column < columns; column += 1) yield [row, column, cells[row]?.[column] ?? "floor"];
  }
}

/** @param {number} index */
const middle = (index) => index * UNIT + UNIT / 2;

/**
 * @param {number} row
 * @param {number} column
 * @param {string} name
 */
function drawCell(row, column, name) {
  const group = svg("g", { transform: `translate(${middle(column)} ${middle(row)})` });
  group.append(svg("rect", { class: "board-floor", x: -19, y: -19, width: 38, height: 38, rx: 5 }));
  if ((row * 7 + column * 3) % 4 === 1) {
    group.append(svg("path", { class: "board-shine", d: "M-12 -4 L-4 -12 M-9 2 L2 -9" }));
  }
  if (Object.hasOwn(PIECES, name)) group.append(...PIECES[name]());
  else if (name !== "floor") group.append(svg("text", { class: "board-unknown", y: 6 }, "?"));
  return group;
}

function wall() {
  return [
    svg("rect", { class: "board-wall", x: -19, y: -19, width: 38, height: 38, rx: 3 }),
    svg("path", { class: "board-mortar", d: "M-19 -6.5 H19 M-19 6.5 H19 M-4 -19 V-6.5 M9 -6.5 V6.5 M-9 6.5 V19" }),
  ];
}

function hole() {
  return [
    svg("ellipse", { class: "board-hole-rim", cx: 0, cy: 1, rx: 15, ry: 13 }),
    svg("ellipse", { class: "board-hole", cx: 0, cy: 2.5, rx: 12.5, ry: 10.5 }),
    svg("path", { class: "board-ripple", d: "M-7 5 q3.5 -2.5 7 0 t7 0" }),
  ];
}

function goal() {
  return [
    svg("ellipse", { class: "board-goal-base", cx: -4, cy: 13.5, rx: 8, ry: 2.5 }),
    svg("path", { class: "board-pole", d: "M-4 13 V-14" }),
    svg("path", { class: "board-flag", d: "M-4 -14 L12 -8.5 L-4 -2.5 Z" }),
  ];
}

function start() {
  return [svg("circle", { class: "board-start", r: 13 })];
}

function target() {
  return [svg("circle", { class: "board-target", r: 9.5 }), svg("circle", { class: "board-target-dot", r: 3 })];
}

function box() {
  return [
    svg("rect", { class: "board-box", x: -14, y: -14, width: 28, height: 28, rx: 3 }),
    svg("path", { class: "board-planks", d: "M-14 -7.5 H14 M-14 7.5 H14 M-10 -7.5 L10 7.5" }),
  ];
}

function boxOnTarget() {
  return [
    svg("rect", { class: "board-box board-box--home", x: -14, y: -14, width: 28, height: 28, rx: 3 }),
    svg("path", { class: "board-check", d: "M-7 0.5 L-2 6 L7.5 -5.5" }),
  ];
}

/**
 * @param {Cell} cell
 * @param {string | undefined} state
 */
function player([row, column], state) {
  const sunk = state === "in_hole";
  const group = svg("g", {
    class: `board-player board-player--${sunk ? "sunk" : "up"}`,
    transform: `translate(${middle(column)} ${middle(row)})`,
  });
  if (sunk) {
    group.append(
      svg("circle", { class: "board-skin", cy: -1, r: 6 }),
      svg("path", { class: "board-water", d: "M-12 4 q3 -3 6 0 t6 0 t6 0 t6 0 V9 q-12 7 -24 0 Z" }),
      svg("path", { class: "board-cross", d: "M8 -15 L15 -8 M15 -15 L8 -8" }),
    );
    return group;
  }
  group.append(
    svg("path", { class: "board-body", d: "M-8.5 13 v-5.5 a8.5 8.5 0 0 1 17 0 V13 q-8.5 3 -17 0 Z" }),
    svg("circle", { class: "board-skin", cy: -7, r: 6.5 }),
  );
  if (state === "on_goal") {
    group.append(svg("path", { class: "board-star", d: star(12, -13, 6) }));
  }
  return group;
}

/**
 * @param {number} x
 * @param {number} y
 * @param {number} radius
 */
function star(x, y, radius) {
  const points = [...Array(10).keys()].map((index) => {
    const angle = (Math.PI * index) / 5 - Math.PI / 2;
    const reach = index % 2 ? radius * 0.45 : radius;
    return `${(x + reach * Math.cos(angle)).toFixed(2)} ${(y + reach * Math.sin(angle)).toFixed(2)}`;
  });
  return `M${points.join(" L")} Z`;
}

/**
 * Outlines of the cells that differ, and an arrow along the player's move.
 * @param {Grid} previous
 * @param {Grid} drawing
 */
function changes(previous, drawing) {
  /** @type {SVGElement[]} */
  const marks = [];
  for (const [row, column, name] of eachCell(drawing)) {
    if ((previous.cells[row]?.[column] ?? "floor") !== name) marks.push(outline(row, column));
  }
  if (!isCell(previous.agent) || !isCell(drawing.agent)) return marks;
  const [fromRow, fromColumn] = previous.agent;
  const [row, column] = drawing.agent;
  if (fromRow === row && fromColumn === column) return marks;
  marks.push(outline(row, column), arrow(middle(fromColumn), middle(fromRow), middle(column), middle(row)));
  return marks;
}

/**
 * @param {number} row
 * @param {number} column
 */
function outline(row, column) {
  return svg("rect", {
    class: "board-changed",
    x: column * UNIT + 1.5,
    y: row * UNIT + 1.5,
    width: UNIT - 3,
    height: UNIT - 3,
    rx: 5,
  });
}

/**
 * From the middle of one cell to the border of the next, so that the player does not hide it.
 * @param {number} x1
 * @param {number} y1
 * @param {number} x2
 * @param {number} y2
 */
function arrow(x1, y1, x2, y2) {
  const length = Math.hypot(x2 - x1, y2 - y1);
  const [dx, dy] = [(x2 - x1) / length, (y2 - y1) / length];
  const [tipX, tipY] = [x2 - dx * 13, y2 - dy * 13];
  const side = (/** @type {number} */ sign) => `${tipX - dx * 6 + sign * dy * 5} ${tipY - dy * 6 - sign * dx * 5}`;
  return svg(
    "g",
    { class: "board-move" },
    svg("circle", { class: "board-move-from", cx: x1, cy: y1, r: 4 }),
    svg("path", {
      class: "board-move-line",
      d: `M${x1} ${y1} L${tipX} ${tipY} M${side(1)} L${tipX} ${tipY} L${side(-1)}`,
    }),
  );
}

/**
 * @param {number} rows
 * @param {number} columns
 */
function edgeLabels(rows, columns) {
  const group = svg("g", { class: "board-labels", "aria-hidden": "true" });
  for (let row = 0; row < rows; row += 1) group.append(svg("text", { x: -10, y: middle(row) + 4 }, String(row)));
  for (let column = 0; column < columns; column += 1) {
    group.append(svg("text", { x: middle(column), y: -6 }, String(column)));
  }
  return group;
}
