// The list of environments: a search field over its cards, and facts that a worker is still measuring.

import { findAll, find } from "../core/dom.js";
import { getJson } from "../core/requests.js";
import { visibleString } from "../core/visible_text.js";
import { baselineBars } from "./baselines.js";
import { drawBoard } from "./board.js";

/** @import { Facts } from "../types.js" */

const POLL_MILLISECONDS = 2000;

/** Polls for the facts of the cards that have none, until all have them. */
async function poll() {
  const waiting = findAll(document, "[data-measuring]");
  if (!waiting.length) return;
  const address = new URL(waiting[0].dataset.facts ?? "", location.href);
  for (const card of waiting) address.searchParams.append("v", card.dataset.measuring ?? "");
  /** @type {{ facts: Record<string, Facts> } | null} */
  const answer = document.hidden ? null : await getJson(address.href);
  for (const card of waiting) {
    const facts = answer?.facts[card.dataset.measuring ?? ""];
    if (facts) show(card, facts);
  }
  setTimeout(poll, POLL_MILLISECONDS);
}

/**
 * @param {HTMLElement} card
 * @param {Facts} facts
 */
function show(card, { drawing, baselines, problem }) {
  const board = find(card, ".board");
  if (drawing && board.dataset.drawn === undefined) {
    board.replaceChildren(drawBoard(drawing, { still: board.closest("[aria-hidden]") !== null }));
    board.dataset.drawn = "";
  }
  if (problem) find(card, ".measuring").replaceChildren(visibleString(problem));
  find(card, ".measuring").classList.toggle("field-error", Boolean(problem));
  if (!baselines) return;
  if (!problem) find(card, ".measuring").replaceWith(baselineBars(baselines));
  delete card.dataset.measuring;
}

/** Hides what does not fit the search: every word has to be in a card's name, kind or summary. */
function search() {
  if (!(field instanceof HTMLInputElement)) return;
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  let found = 0;
  for (const group of findAll(document, ".environment-group")) {
    const cards = findAll(group, ".environment-card");
    const fitting = cards.filter((card) => fits(card.dataset.search ?? "", words));
    for (const card of cards) card.hidden = !fitting.includes(card);
    group.hidden = !fitting.length;
    found += fitting.length;
  }
  find(document, ".environment-found").textContent = words.length ? `${found} found` : "";
}

/**
 * @param {string} text
 * @param {string[]} words
 */
const fits = (text, words) => words.every((word) => text.includes(word));

const field = document.getElementById("environment-search");
field?.addEventListener("input", search);
search();
poll();
