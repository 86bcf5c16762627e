// Groups as rows and their members as cells, coloured by return; what the filter kept above its line, the rest hatched.

import { element } from "../core/dom.js";
import { number } from "../core/format.js";
import { showText } from "../core/visible_text.js";

const SHADES = 8;
const FEW = 64; // rows shown unless all are asked for

// `told` is what the server says of a step; `choice` is another filter's, or null
export function matrix(told, choice, { all, address, chooseTitle }) {
  const rows = ordered(told);
  const shown = all ? rows : rows.slice(0, FEW);
  const scale = scaleOf(told.groups);
  const wide = Math.max(...told.groups.map((one) => one.returns.length), 0);
  const several = new Set(told.groups.map((one) => one.environment)).size > 1;
  const columns = 5 + wide + (several ? 1 : 0);
  const chosen = choice ? new Set(choice.kept) : null;
  const body = element("tbody", {});
  const lines = linesOf(rows, told, chosen, chooseTitle);
  shown.forEach((one, place) => {
    body.append(row(one, { wide, several, scale, chosen, address }));
    for (const line of lines.filter((other) => other.after === place)) body.append(border(line, columns));
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
    element("th", { scope: "col", class: "num", title: "Standard deviation of the group's returns" }, "spread"),
    element("th", { scope: "col", class: "num", title: "Its square: what mass is made of" }, "variance"),
    element("th", { scope: "col" }, "trained"),
  );
  const table = element("table", { class: "matrix" }, element("thead", {}, head), body);
  rove(table);
  return { table, hidden: rows.length - shown.length, scale };
}

// In the filter's order of preference: by score, groups that were no candidates last. Ties keep the lower number first.
export function ordered(told) {
  const sign = told.own.largest ? -1 : 1;
  const rank = (one) => (one.score === null ? Infinity : sign * one.score);
  const rows = told.groups.map((one, place) => ({ ...one, place }));
  return rows.sort((one, other) => compare(rank(one), rank(other)) || one.place - other.place);
}

const compare = (one, other) => (one === other ? 0 : one < other ? -1 : 1);

// Where a choice ends among the ordered rows: after its last kept one.
function linesOf(rows, told, chosen, chooseTitle) {
  const last = (kept) => rows.findLastIndex((one) => kept.has(one.place));
  const own = { after: last(new Set(told.kept)), words: ownWords(told), kind: "own" };
  const lines = told.own.strategy === "none" ? [] : [own];
  if (chosen) lines.push({ after: last(chosen), words: chooseTitle, kind: "what-if" });
  return lines.filter(({ after }) => after >= 0 && after < rows.length - 1);
}

function ownWords(told) {
  return `the run's filter cut here: score ${number(told.threshold)} and ${told.own.largest ? "more" : "less"} trained`;
}

function border({ words, kind }, columns) {
  return element(
    "tr",
    { class: `matrix-line matrix-line--${kind}` },
    element("td", { colspan: columns }, element("span", {}, words)),
  );
}

function row(one, { wide, several, scale, chosen, address }) {
  const cells = Array.from({ length: wide }, (_, member) => cell(one, member, scale, address));
  const environment = element("td", {});
  showText(environment, one.environment);
  const kept = one.kept ? "yes" : one.score === null ? "no candidate" : "no";
  const other =
    chosen === null
      ? ""
      : chosen.has(one.place) === one.kept
        ? ""
        : chosen.has(one.place)
          ? " → would"
          : " → would not";
  return element(
    "tr",
    { class: one.kept ? "is-kept" : "is-dropped" },
    element("th", { scope: "row", class: "num" }, String(one.group)),
    several ? environment : null,
    element("td", { class: "num muted" }, String(one.seed)),
    ...cells,
    element("td", { class: "num" }, number(one.spread)),
    element("td", { class: "num" }, one.spread === null ? "–" : number(one.spread ** 2)),
    element("td", { class: "nowrap" }, kept, other ? element("em", {}, other) : null),
  );
}

function cell(one, member, scale, address) {
  const value = one.returns[member];
  const key = one.trajectories[member];
  if (value === undefined) return element("td", { class: "matrix-cell" });
  if (value === null)
    return element(
      "td",
      { class: "matrix-cell" },
      element(
        "span",
        { class: "matrix-none", title: "No outcome: the environment failed, or there was no room for a response" },
        "×",
      ),
    );
  const title = `group ${one.group}, member ${member}: return ${number(value)}${key ? "" : " · its trajectory was not recorded"}`;
  const attributes = { class: `heat heat-${scale.shade(value)}`, title, "aria-label": title };
  const inner = key
    ? element("a", { ...attributes, href: `${address}${key}/`, tabindex: -1 }, number(value, 2))
    : element("span", attributes, number(value, 2));
  return element("td", { class: "matrix-cell" }, inner);
}

// From the least return of the step to the most, in eight shades; 0 always lies within, so that a step of equal returns
// looks like what they are.
function scaleOf(groups) {
  const values = groups.flatMap((one) => one.returns).filter((value) => value !== null);
  const [low, high] = [Math.min(0, ...values), Math.max(0, ...values)];
  return { low, high, shade: (value) => (high > low ? Math.round((SHADES * (value - low)) / (high - low)) : 0) };
}

/** The cell that leads to `address`, if there is one, has the focus: one that was drawn anew under the reader. */
export function goOnAt(table, address) {
  const cell = [...table.querySelectorAll("a")].find((link) => link.getAttribute("href") === address);
  if (cell) moveTo(table, cell);
}

function moveTo(table, cell) {
  for (const link of table.querySelectorAll("a")) link.setAttribute("tabindex", link === cell ? "0" : "-1");
  cell.focus();
}

// One tab stop for the whole table: arrows go from cell to cell.
function rove(table) {
  table.querySelector("a")?.setAttribute("tabindex", "0");
  table.addEventListener("keydown", (event) => {
    const from = event.target.closest("a");
    const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    if (!from || !step) return;
    event.preventDefault();
    const to = neighbour(from, step);
    if (to) moveTo(table, to);
  });
}

function neighbour(from, [down, right]) {
  let rowNow = from.closest("tr");
  let column = from.closest("td").cellIndex;
  for (;;) {
    if (down) rowNow = down > 0 ? rowNow.nextElementSibling : rowNow.previousElementSibling;
    else column += right;
    if (rowNow?.classList.contains("matrix-line")) continue;
    if (!rowNow || column < 0 || column >= rowNow.cells.length + 1) return null;
    const link = rowNow.cells[column]?.querySelector("a");
    if (link) return link;
  }
}
