// Cards: things side by side, each with a title, a text and a state.

import { html } from "../core/html.js";
import { more, plural, sheet, shortened, spoken, textNodes } from "./board_sheet.js";

/** @import { Card, Drawing } from "../types.js" */
/** @import { BoardLook } from "./board_sheet.js" */

const MOST = 100;
/** @type {Record<string, string>} */
const SIGNS = { normal: "", chosen: "●", good: "✓", bad: "✕" };

/**
 * @param {Drawing} drawing
 * @param {BoardLook} look
 */
export function drawCards(drawing, { previous, still }) {
  const cards = cardsOf(drawing);
  if (!cards) return null;
  const before = previous && cardsOf(previous);
  const list = html("ul", "board-card-list");
  cards.slice(0, MOST).forEach((card, index) => {
    const was = before?.[index];
    list.append(cardOf(card, before !== null && (was?.state !== card.state || was.text !== card.text)));
  });
  const left = cards.length - MOST;
  return sheet("cards", describeCards(drawing), still, list, ...(left > 0 ? [more(left, "cards")] : []));
}

/** @param {Drawing} drawing */
export function describeCards(drawing) {
  const cards = cardsOf(drawing);
  if (!cards) return "no drawing";
  const names = cards.map(({ title, state }) => (state === "normal" ? title : `${title} (${state})`));
  return `${plural(cards.length, "card")}: ${shortened(names.join("; "), 300)}`;
}

/**
 * @param {Drawing} previous
 * @param {Drawing} drawing
 */
export function changeOfCards(previous, drawing) {
  const [before, cards] = [cardsOf(previous), cardsOf(drawing)];
  if (!before || !cards) return "";
  const changes = cards.flatMap(({ title, text, state }, index) => {
    const was = before[index];
    if (!was || was.title !== title) return [`${title} is new`];
    if (was.state !== state) return [`${title}: ${was.state} → ${state}`];
    return was.text === text ? [] : [`${title}: ${shortened(text, 60)}`];
  });
  return changes.length ? `Changed: ${changes.slice(0, 6).join("; ")}.` : "Nothing changed.";
}

/**
 * @param {Drawing} drawing
 * @returns {Card[] | null}
 */
function cardsOf({ cards }) {
  return Array.isArray(cards) && cards.length && cards.every(isCard) ? cards : null;
}

/**
 * @param {unknown} card
 * @returns {card is Card}
 */
function isCard(card) {
  if (typeof card !== "object" || card === null) return false;
  const { title, text, state } = /** @type {Card} */ (card);
  return [title, text, state].every((one) => typeof one === "string");
}

/**
 * @param {Card} card
 * @param {boolean} changed
 */
function cardOf({ title, text, state }, changed) {
  const known = Object.hasOwn(SIGNS, state) ? state : "normal";
  const heading = html("strong", "board-card-title", {}, textNodes(title));
  if (SIGNS[known]) {
    const sign = html("span", "board-card-sign", { textContent: SIGNS[known] });
    sign.setAttribute("aria-hidden", "true");
    heading.prepend(sign);
    heading.append(spoken(known));
  }
  const card = html("li", `board-card board-card--${known}${changed ? " board-card--changed" : ""}`, {}, heading);
  if (text) card.append(html("span", "board-card-text", {}, textNodes(text)));
  return card;
}
