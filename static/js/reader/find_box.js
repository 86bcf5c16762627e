// Finding text in the transcript: every hit is highlighted without a change of the document, and one is the current hit.

import { byId } from "../core/dom.js";
import { hitsIn, nextHit } from "./text_search.js";

/** @import { Hit } from "./text_search.js" */

const PAUSE = 120; // milliseconds after the last key
const ALL = "found";
const CURRENT = "found-current";

const input = byId("find-input", HTMLInputElement);

/** @type {HTMLElement[]} */
let blocks = [];
/** @type {string[]} */
let texts = [];
/** @type {Hit[]} */
let hits = [];
let current = -1;
let firstTurn = 0;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let pending;

/**
 * Searches these blocks from now on.
 * @param {HTMLElement[]} searched
 */
export function searchIn(searched) {
  blocks = searched;
  texts = blocks.map((block) => block.textContent ?? "");
  search();
}

/**
 * A new search begins at this turn.
 * @param {number} turn
 */
export function searchFrom(turn) {
  firstTurn = turn;
}

export function focusFind() {
  input.focus();
  input.select();
}

function search() {
  hits = hitsIn(texts, input.value);
  current = hits.length ? Math.max(0, hits.findIndex(isAhead)) : -1;
  highlight(ALL, hits.map(staticRangeOf));
  show();
}

/** @param {Hit} hit */
const isAhead = ({ text }) => Number(blocks[text].closest("[data-turn]")?.getAttribute("data-turn") ?? 0) >= firstTurn;

/** @param {1 | -1} direction */
function go(direction) {
  clearTimeout(pending);
  if (pending !== undefined) search();
  else {
    current = nextHit(current, hits.length, direction);
    show();
  }
  pending = undefined;
}

function show() {
  const asked = input.value.trim() !== "";
  byId("find-count").textContent = hits.length ? `${current + 1} of ${hits.length}` : asked ? "not found" : "";
  input.setAttribute("aria-invalid", String(asked && !hits.length));
  for (const id of ["find-before", "find-after"]) byId(id, HTMLButtonElement).disabled = !hits.length;
  const hit = hits[current];
  highlight(CURRENT, hit ? [rangeOf(hit)] : []);
  if (hit) scrollTo(hit);
}

/**
 * A turn out of sight has no layout yet: it gets one by being scrolled to, and then the hit has a position.
 * @param {Hit} hit
 */
function scrollTo(hit) {
  blocks[hit.text].scrollIntoView({ block: "nearest" });
  requestAnimationFrame(() => {
    const { top, bottom } = rangeOf(hit).getBoundingClientRect();
    if (top < 0.2 * innerHeight || bottom > 0.85 * innerHeight) scrollBy({ top: top - 0.4 * innerHeight });
  });
}

/**
 * @param {string} name
 * @param {AbstractRange[]} ranges
 */
function highlight(name, ranges) {
  if (!("highlights" in CSS)) {
    if (name === CURRENT && hits[current]) selectInstead(rangeOf(hits[current]));
    return;
  }
  const found = new Highlight(...ranges);
  found.priority = name === CURRENT ? 1 : 0;
  CSS.highlights.set(name, found);
}

/**
 * For a browser without highlights: the current hit is selected.
 * @param {Range} range
 */
function selectInstead(range) {
  const selection = getSelection();
  selection?.removeAllRanges();
  selection?.addRange(range);
}

/**
 * Where a hit is, as static as the text: thousands of live ranges would slow every change of the page.
 * @param {Hit} hit
 */
function staticRangeOf({ text, start, end }) {
  const walker = document.createTreeWalker(blocks[text], NodeFilter.SHOW_TEXT);
  const ends = { startContainer: walker.root, startOffset: 0, endContainer: walker.root, endOffset: 0 };
  let before = 0;
  for (let node = walker.nextNode(); node && before < end; node = walker.nextNode()) {
    const after = before + (node.nodeValue?.length ?? 0);
    if (start >= before && start < after) Object.assign(ends, { startContainer: node, startOffset: start - before });
    if (end > before && end <= after) Object.assign(ends, { endContainer: node, endOffset: end - before });
    before = after;
  }
  return new StaticRange(ends);
}

/** @param {Hit} hit */
function rangeOf(hit) {
  const { startContainer, startOffset, endContainer, endOffset } = staticRangeOf(hit);
  const range = new Range();
  range.setStart(startContainer, startOffset);
  range.setEnd(endContainer, endOffset);
  return range;
}

function clear() {
  input.value = "";
  search();
  input.blur();
}

input.addEventListener("input", () => {
  clearTimeout(pending);
  pending = setTimeout(() => {
    pending = undefined;
    search();
  }, PAUSE);
});
input.addEventListener("keydown", (event) => {
  if (event.key === "Escape") clear();
  if (event.key !== "Enter") return;
  event.preventDefault();
  go(event.shiftKey ? -1 : 1);
});
byId("find-before").addEventListener("click", () => go(-1));
byId("find-after").addEventListener("click", () => go(1));
