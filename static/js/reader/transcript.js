// The whole trajectory on one page: every message of every turn with its state, response, outcome and rewards. The text
// is all there, so that the browser's own search finds it; layout and boards of turns out of sight wait until they are
// near.

import { drawBoard } from "../environments/board.js";
import { findAll } from "../core/dom.js";
import { html } from "../core/html.js";
import { showText } from "../core/visible_text.js";
import { messageList } from "./messages.js";
import { fixed, signed } from "./numbers.js";
import { isImported, outcomeOf } from "./outcome.js";
import { stateAfter, stateSeen } from "./turn_states.js";

/** @import { Drawing, Message, TrajectoryRecord, Turn } from "../types.js" */
/** @import { EnvState } from "./turn_states.js" */

const NEAR = "800px 0px"; // how far out of sight boards are drawn
const PICTURES = new Set(["grid", "arms"]); // other drawings are texts, which need more room
const READING_LINE = 0.3; // of the window's height: the turn there is the one being read
const SETTLED = 150; // milliseconds after the last scrolling

/** @typedef {{ goTo: (turn: number) => void, end: () => void }} Transcript */

/**
 * @param {HTMLElement} host
 * @param {TrajectoryRecord} record
 * @param {{ raw: boolean, onTurn: (turn: number) => void, onOpen: (turn: number) => void }} options `onTurn` hears which
 *   turn is being read, `onOpen` which one is to be shown on its own
 * @returns {Transcript}
 */
export function drawTranscript(host, record, { raw, onTurn, onOpen }) {
  const turns = record.turns.map((_, index) => {
    const article = html(
      "article",
      "panel transcript-turn",
      {},
      head(record, index, onOpen),
      exchange(record, index, raw),
    );
    article.dataset.turn = String(index);
    return article;
  });
  host.replaceChildren(...turns);
  const near = new IntersectionObserver(
    (entries) => {
      for (const { target, isIntersecting } of entries) {
        if (!isIntersecting) continue;
        near.unobserve(target);
        drawBoards(target, record);
      }
    },
    { rootMargin: NEAR },
  );
  for (const turn of turns) near.observe(turn);

  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let pending;
  const onScroll = () => {
    clearTimeout(pending);
    pending = setTimeout(() => {
      const turn = turnBeingRead(host);
      if (turn !== null) onTurn(turn);
    }, SETTLED);
  };
  addEventListener("scroll", onScroll, { passive: true });
  return {
    goTo: (turn) => {
      const target = turns[turn];
      target?.scrollIntoView();
      requestAnimationFrame(() => target?.scrollIntoView()); // turns that came into sight have their real height now
    },
    end: () => {
      clearTimeout(pending);
      removeEventListener("scroll", onScroll);
      near.disconnect();
      host.replaceChildren();
    },
  };
}

/** @param {HTMLElement} host */
function turnBeingRead(host) {
  const { left, width } = host.getBoundingClientRect();
  const article = document.elementFromPoint(left + width / 2, READING_LINE * innerHeight)?.closest("[data-turn]");
  return article && host.contains(article) ? Number(article.getAttribute("data-turn")) : null;
}

/**
 * @param {Element} article
 * @param {TrajectoryRecord} record
 */
function drawBoards(article, record) {
  const index = Number(article.getAttribute("data-turn"));
  const [seen, after] = [stateSeen(record, index), stateAfter(record, index)];
  const looks = {
    seen: { drawing: seen.drawing, previous: null },
    after: { drawing: after.drawing, previous: seen.drawing },
  };
  for (const board of findAll(article, "[data-state]")) {
    const { drawing, previous } = looks[board.dataset.state === "after" ? "after" : "seen"];
    board.replaceChildren(drawBoard(drawing, { previous, labels: true }));
  }
}

/**
 * The texts of the transcript in order: what a search looks through, without headings.
 * @param {HTMLElement} host
 */
export const textsOf = (host) => findAll(host, ".model-text, .turn-actions li, .transcript-turn p:not(.message-role)");

/**
 * @param {TrajectoryRecord} record
 * @param {number} index
 * @param {(turn: number) => void} onOpen
 */
function head(record, index, onOpen) {
  const { reward, return_to_go: toGo, advantage, entropy } = record.turns[index];
  const numbers = [
    `reward ${signed(reward)}`,
    `return to go ${signed(toGo)}`,
    `advantage ${signed(advantage)}`,
    `entropy ${fixed(entropy)}`,
  ];
  const title = html("h2", "panel-title", { textContent: `Turn ${index + 1} of ${record.turns.length}` });
  const open = html("button", "button button--small", { type: "button", textContent: "Frames and tokens" });
  open.addEventListener("click", () => onOpen(index));
  const facts = html("span", "muted num transcript-numbers", { textContent: numbers.join(" · ") });
  return html("header", "transcript-head", {}, title, facts, open);
}

/**
 * What the agent saw beside its response, and the state after beside the outcome.
 * @param {TrajectoryRecord} record
 * @param {number} index
 * @param {boolean} raw
 */
function exchange(record, index, raw) {
  const turn = record.turns[index];
  const seen = stateSeen(record, index);
  return html(
    "div",
    "exchange",
    {},
    part("State seen", state(...boardFor("seen", seen.drawing), given(turn, index, raw, seen))),
    part(...response(turn, raw)),
    part("State after", state(...stateParts(record, index))),
    part("Outcome", ...outcomeOf(record, index)),
  );
}

/**
 * An empty board, which is drawn when it is near.
 * @param {"seen" | "after"} which
 * @param {Drawing | undefined} drawing
 */
function boardFor(which, drawing) {
  if (!drawing) return [];
  const board = html("div", `board transcript-board${PICTURES.has(drawing.type) ? " transcript-board--picture" : ""}`);
  board.dataset.state = which;
  return [board];
}

/** @param {...HTMLElement} body */
const state = (...body) => html("div", "transcript-state", {}, ...body);

/**
 * @param {string} title
 * @param {...HTMLElement} body
 */
function part(title, ...body) {
  return html("section", "turn-part", {}, html("h3", "turn-part-title", { textContent: title }), ...body);
}

/**
 * The messages that the turn's prompt adds. A later prompt may repeat earlier turns; only its last message is new.
 * @param {Turn} turn
 * @param {number} index
 * @param {boolean} raw
 * @param {EnvState} seen
 */
function given(turn, index, raw, seen) {
  if (raw) return textBlock(turn.prompt);
  /** @type {Message[]} */
  const messages = turn.messages ?? [];
  if (!messages.length) return textBlock(turn.prompt || (seen.observation ?? ""));
  return messageList(index === 0 ? messages : messages.slice(-1));
}

/**
 * The thought; what cannot be parsed, and what a reader wants exactly, is shown as it was sampled.
 * @param {Turn} turn
 * @param {boolean} raw
 * @returns {[title: string, body: HTMLElement]}
 */
function response({ thought, response: sampled, parse }, raw) {
  if (raw || !thought || parse !== "ok") return ["Response as sampled", textBlock(sampled)];
  return ["Thought", textBlock(thought)];
}

/**
 * @param {TrajectoryRecord} record
 * @param {number} index
 */
function stateParts(record, index) {
  const turn = record.turns[index];
  if (!turn.frames.length) {
    return [html("p", "muted", { textContent: isImported(turn) ? "Not in the file." : "The same state." })];
  }
  const { drawing, observation } = stateAfter(record, index);
  const isLast = index === record.turns.length - 1; // no later message shows it
  const text = isLast || !drawing ? [textBlock(observation ?? "")] : [];
  return [...boardFor("after", drawing), ...text];
}

/** @param {string} text */
function textBlock(text) {
  if (!text) return html("p", "muted", { textContent: "Nothing." });
  const block = html("pre", "model-text");
  showText(block, text);
  return block;
}
