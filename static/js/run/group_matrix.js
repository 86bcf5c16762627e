// Groups as rows and their members as cells, coloured by return; groups that the filter kept are above its line, the
// rest are hatched.

import { element, targetWithin } from "../core/dom.js";
import { number } from "../core/format.js";
import { showText } from "../core/visible_text.js";

/** @import { Group, StepGroups } from "../types.js" */

/** @typedef {Group & { index: number }} GroupRow with its index in the order of the step */
/** @typedef {{ low: number, high: number, shade: (value: number) => number }} Scale */
/** @typedef {{ after: number, label: string, kind: string }} CutOff */
/** @typedef {{ wide: number, several: boolean, scale: Scale, chosen: Set<number> | null, address: string }} RowLook */

const SHADES = 8;
const FEW = 64; // rows shown unless all are requested

/**
 * `step` is the server's answer about a step; `other` what another filter would keep, or null
 * @param {StepGroups} step
 * @param {{ kept: number[] } | null} other
 * @param {{ all: boolean, address: string, chooseTitle: string }} options
 */
export function groupMatrix(step, other, { all, address, chooseTitle }) {
  const rows = ordered(step);
  const shown = all ? rows : rows.slice(0, FEW);
  const scale = scaleOf(step.groups);
  const wide = Math.max(...step.groups.map((one) => one.returns.length), 0);
  const several = new Set(step.groups.map((one) => one.environment)).size > 1;
  const columns = 5 + wide + (several ? 1 : 0);
  const chosen = other ? new Set(other.kept) : null;
  const body = element("tbody", {});
  const lines = linesOf(rows, step, chosen, chooseTitle);
  shown.forEach((one, index) => {
    body.append(rowOf(one, { wide, several, scale, chosen, address }));
    for (const line of lines.filter((end) => end.after === index)) body.append(border(line, columns));
  });
  const head = element(
    "tr",
    {},
    element("th", { scope: "col" }, "group"),
    several ? element("th", { scope: "col" }, "environment") : null,
    element("th", { scope: "col", class: "num" }, "seed"),
    ...Array.from({ length: wide }, (_, member) =>
      element("th", { scope: "col", class: "matrix-member" }, String(member)),
    ),
    element("th", { scope: "col", class: "num", title: "Standard deviation of the group's returns" }, "std"),
    element("th", { scope: "col", class: "num", title: "Its square; the mass is a sum of these" }, "variance"),
    element("th", { scope: "col" }, "trained"),
  );
  const table = element("table", { class: "matrix" }, element("thead", {}, head), body);
  rove(table);
  return { table, hidden: rows.length - shown.length, scale };
}

/**
 * In the filter's order of preference: by score, groups that were no candidates last. Ties keep the lower number first.
 * @param {Pick<StepGroups, "own" | "groups">} step
 */
export function ordered(step) {
  const sign = (step.own.largest ?? true) ? -1 : 1;
  const rank = (/** @type {Group} */ one) => (one.score === null ? Infinity : sign * one.score);
  const rows = step.groups.map((one, index) => ({ ...one, index }));
  return rows.sort((one, other) => compare(rank(one), rank(other)) || one.index - other.index);
}

/**
 * @param {number} one
 * @param {number} other
 */
const compare = (one, other) => (one === other ? 0 : one < other ? -1 : 1);

/**
 * The cut-off of each filter among the ordered rows: after the last one it keeps.
 * @param {GroupRow[]} rows
 * @param {StepGroups} step
 * @param {Set<number> | null} chosen
 * @param {string} chooseTitle
 * @returns {CutOff[]}
 */
function linesOf(rows, step, chosen, chooseTitle) {
  const last = (/** @type {Set<number>} */ kept) => rows.findLastIndex((one) => kept.has(one.index));
  const own = { after: last(new Set(step.kept)), label: ownLabel(step), kind: "own" };
  const lines = step.own.type === "none" ? [] : [own];
  if (chosen) lines.push({ after: last(chosen), label: chooseTitle, kind: "what-if" });
  return lines.filter(({ after }) => after >= 0 && after < rows.length - 1);
}

/** @param {StepGroups} step */
function ownLabel(step) {
  return `cut-off of the run's filter: score ${number(step.threshold)} and ${step.own.largest ? "more" : "less"} trained`;
}

/**
 * @param {CutOff} cutOff
 * @param {number} columns
 */
function border({ label, kind }, columns) {
  return element(
    "tr",
    { class: `matrix-line matrix-line--${kind}` },
    element("td", { colspan: columns }, element("span", {}, label)),
  );
}

/**
 * @param {GroupRow} one
 * @param {RowLook} rowLook
 */
function rowOf(one, { wide, several, scale, chosen, address }) {
  const cells = Array.from({ length: wide }, (_, member) => cellOf(one, member, scale, address));
  const environment = element("td", {});
  showText(environment, one.environment);
  const kept = one.kept ? "yes" : one.score === null ? "no candidate" : "no";
  const other =
    chosen === null
      ? ""
      : chosen.has(one.index) === one.kept
        ? ""
        : chosen.has(one.index)
          ? " → would"
          : " → would not";
  return element(
    "tr",
    { class: one.kept ? "is-kept" : "is-dropped" },
    element("th", { scope: "row", class: "num" }, String(one.group)),
    several ? environment : null,
    element("td", { class: "num muted" }, String(one.seed)),
    ...cells,
    element("td", { class: "num" }, number(one.std)),
    element("td", { class: "num" }, one.std === null ? "–" : number(one.std ** 2)),
    element("td", { class: "nowrap" }, kept, other ? element("em", {}, other) : null),
  );
}

/**
 * @param {GroupRow} one
 * @param {number} member
 * @param {Scale} scale
 * @param {string} address
 */
function cellOf(one, member, scale, address) {
  const value = one.returns[member];
  const key = one.trajectories[member];
  if (value === undefined) return element("td", { class: "matrix-cell" });
  if (value === null) {
    return element(
      "td",
      { class: "matrix-cell" },
      element(
        "span",
        { class: "matrix-none", title: "No outcome: the environment failed, or there was no room for a response" },
        "×",
      ),
    );
  }
  const title = `group ${one.group}, member ${member}: return ${number(value)}${key ? "" : " · its trajectory was not recorded"}`;
  const attributes = { class: `heat heat-${scale.shade(value)}`, title, "aria-label": title };
  const inner = key
    ? element("a", { ...attributes, href: `${address}${key}/`, tabindex: -1 }, number(value, 2))
    : element("span", attributes, number(value, 2));
  return element("td", { class: "matrix-cell" }, inner);
}

/**
 * From the least return of the step to the most, in eight shades; 0 always lies within, so that a step of equal returns
 * looks like what they are.
 * @param {Group[]} groups
 * @returns {Scale}
 */
function scaleOf(groups) {
  const values = groups.flatMap((one) => one.returns).flatMap((value) => value ?? []);
  const [low, high] = [Math.min(0, ...values), Math.max(0, ...values)];
  return {
    low,
    high,
    shade: (/** @type {number} */ value) => (high > low ? Math.round((SHADES * (value - low)) / (high - low)) : 0),
  };
}

/**
 * Focuses the cell that links to `address`, if there is one, after the table was drawn again.
 * @param {HTMLTableElement} table
 * @param {string} address
 */
export function refocus(table, address) {
  const cell = [...table.querySelectorAll("a")].find((link) => link.getAttribute("href") === address);
  if (cell) moveTo(table, cell);
}

/**
 * @param {HTMLTableElement} table
 * @param {HTMLElement} cell
 */
function moveTo(table, cell) {
  for (const link of table.querySelectorAll("a")) link.setAttribute("tabindex", link === cell ? "0" : "-1");
  cell.focus();
}

/** @type {Record<string, [down: number, right: number]>} */
const MOVES = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

/**
 * One tab stop for the whole table: arrows go from cell to cell.
 * @param {HTMLTableElement} table
 */
function rove(table) {
  table.querySelector("a")?.setAttribute("tabindex", "0");
  table.addEventListener("keydown", (event) => {
    const from = targetWithin(event, "a");
    const step = MOVES[event.key];
    if (!from || !step) return;
    event.preventDefault();
    const to = neighbour(from, step);
    if (to) moveTo(table, to);
  });
}

/**
 * @param {Element} from
 * @param {[down: number, right: number]} values
 */
function neighbour(from, [down, right]) {
  /** @type {Element | null | undefined} */
  let row = from.closest("tr");
  let column = from.closest("td")?.cellIndex ?? 0;
  for (;;) {
    if (down) row = down > 0 ? row?.nextElementSibling : row?.previousElementSibling;
    else column += right;
    if (row?.classList.contains("matrix-line")) continue;
    if (!(row instanceof HTMLTableRowElement) || column < 0 || column > row.cells.length) return null;
    const link = row.cells[column]?.querySelector("a");
    if (link) return link;
  }
}
