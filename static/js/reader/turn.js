// One turn of a trajectory: prompt, thought, raw response, outcome, tokens, and its numbers.

import { copyBy } from "../core/clipboard.js";
import { messageList } from "./messages.js";
import { fixed, signed } from "./numbers.js";
import { outcomeOf, PARSE } from "./outcome.js";
import { maskedIn, tokenPanel } from "./tokens.js";
import { html } from "../core/html.js";
import { showText, visibleString } from "../core/visible_text.js";

/** @import { TokenChoice, TrajectoryRecord, Turn } from "../types.js" */

const view = { raw: false, openPrompt: false, openResponse: false }; // kept from turn to turn

/**
 * Draws a turn. `tokens` is what the token panel begins with and reports; returns what keys call.
 * @param {{ response: HTMLElement, outcome: HTMLElement, tokens: HTMLElement }} hosts
 * @param {TrajectoryRecord} record
 * @param {number} index
 * @param {TokenChoice & { changed: (choice: TokenChoice) => void }} tokens
 */
export function showTurn(hosts, record, index, tokens) {
  const turn = record.turns[index];
  const { panel, move, open } = tokenPanel(record, turn, tokens);
  const body = html("div", "turn-body");
  const raw = html("button", "button", { type: "button", textContent: "Raw", title: "Exact text or its parts (r)" });
  const toggleRaw = () => {
    view.raw = !view.raw;
    fill();
  };
  function fill() {
    raw.setAttribute("aria-pressed", String(view.raw));
    body.replaceChildren(...(view.raw ? rawParts(turn) : parts(turn)));
  }
  raw.addEventListener("click", toggleRaw);
  fill();
  const title = html("h2", "panel-title", { textContent: `Turn ${index + 1} of ${record.turns.length}` });
  hosts.response.replaceChildren(html("div", "turn-head", {}, title, raw), body);
  hosts.outcome.replaceChildren(html("h2", "panel-title", { textContent: "Outcome" }), ...outcomeOf(record, index));
  hosts.tokens.replaceChildren(panel);
  hosts.tokens.hidden = !record.tokens.text.length; // another trainer's trajectory has none
  open();
  return { move, toggleRaw };
}

/** @param {Turn} turn */
function parts(turn) {
  return [
    folded("Prompt: its messages", turn.prompt, "openPrompt", () => messageList(turn.messages)),
    section("Thought", textBlock(turn.thought, "The model wrote no thought."), copyButton(turn.thought)),
    folded("Response as sampled", turn.response, "openResponse", () => textBlock(turn.response, "Nothing.")),
  ];
}

/** @param {Turn} turn */
function rawParts(turn) {
  const block = (/** @type {string} */ title, /** @type {string} */ text) =>
    section(title, textBlock(text, "Nothing."), copyButton(text));
  return [block("Prompt: exactly what the model saw", turn.prompt), block("Response as sampled", turn.response)];
}

/**
 * @param {string} title
 * @param {HTMLElement} body
 * @param {HTMLElement | null} [copy]
 */
function section(title, body, copy = null) {
  const heading = html("h3", "turn-part-title", { textContent: title });
  return html("section", "turn-part", {}, ...(copy ? [copy] : []), heading, body);
}

/**
 * @param {string} text
 * @param {string} whenEmpty
 */
function textBlock(text, whenEmpty) {
  if (!text) return html("p", "muted", { textContent: whenEmpty });
  const block = html("pre", "model-text");
  showText(block, text);
  return block;
}

/**
 * A part that is drawn when it is first opened: prompts can be long, and most stay closed.
 * @param {string} title
 * @param {string} text
 * @param {"openPrompt" | "openResponse"} name
 * @param {() => HTMLElement} draw
 */
function folded(title, text, name, draw) {
  const details = html("details", "turn-part", { open: view[name] }, html("summary", "", { textContent: title }));
  const fill = () => {
    if (!details.open || details.childElementCount > 1) return;
    const copy = copyButton(text);
    details.append(...(copy ? [copy] : []), draw());
  };
  details.addEventListener("toggle", () => {
    view[name] = details.open;
    fill();
  });
  fill();
  return details;
}

/** @param {string} text */
function copyButton(text) {
  if (!text) return null;
  const copy = html("button", "button turn-copy", { type: "button", textContent: "Copy" });
  copy.addEventListener("click", () => copyBy(copy, text));
  return copy;
}

/**
 * @param {HTMLElement} host
 * @param {TrajectoryRecord} record
 * @param {number} index
 */
export function showFacts(host, record, index) {
  const turn = record.turns[index];
  const sampled = record.tokens.sampled
    .slice(turn.response_start, turn.response_end)
    .reduce((sum, mark) => sum + mark, 0);
  const unknown = !record.tokens.text.length;
  const masked = maskedIn(record.tokens, turn.response_start, turn.response_end);
  const perplexity = Math.exp(-turn.logprob);
  /** @type {[name: string, value: string | number, meaning: string][]} */
  const facts = [
    ["Reward", signed(turn.reward), "Sum of the environment's rewards in this turn."],
    ["Penalty", signed(turn.penalty), "For a malformed response or an unknown action; not shown to the model."],
    ["Return to go", signed(turn.return_to_go), "Rewards and penalties of this turn and all later ones."],
    [
      "Advantage",
      signed(turn.advantage),
      "Mean over the turn's sampled tokens; above 0 the update makes them likelier.",
    ],
    ["Entropy", fixed(turn.entropy), "Mean over sampled tokens, in nats: how undecided the model was."],
    ["Log-probability", fixed(turn.logprob), `Mean over sampled tokens; perplexity ${fixed(perplexity)}.`],
    ["Tokens sampled", unknown ? "–" : String(sampled), "Only these are trained on, without those that are masked."],
    ["Tokens masked", unknown ? "–" : String(masked), "Sampled, but not trained on: they spell surplus actions."],
    [
      "Tokens given",
      unknown ? "–" : String(turn.response_start - turn.prompt_start),
      "Prompt tokens added before this response.",
    ],
    ["Parse", PARSE[turn.parse] ?? turn.parse, turn.parse],
    [
      "Group std",
      fixed(record.group_std),
      "Standard deviation of the returns in its group; 0 gives no signal under GRPO.",
    ],
    ["Shortest solution", record.optimal_length ?? "–", "Actions, when nothing slips."],
  ];
  host.replaceChildren(
    ...facts.flatMap(([name, value, meaning]) => [
      html("dt", "muted", { textContent: name, title: meaning }),
      html("dd", "num", { textContent: visibleString(value), title: meaning }),
    ]),
  );
}
