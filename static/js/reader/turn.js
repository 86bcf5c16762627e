// One turn of a trajectory: prompt, thought, actions and their outcome, raw response, tokens, and its numbers.

import { copyBy } from "../core/clipboard.js";
import { messageList } from "./messages.js";
import { played } from "./surplus.js";
import { maskedIn, tokenPanel } from "./tokens.js";
import { html } from "../core/html.js";
import { showText, visibleString } from "../core/visible_text.js";

/** @import { TokenChoice, TrajectoryRecord, Turn } from "../types.js" */

/** @type {Record<string, string>} */
const PARSE = {
  ok: "well formed",
  no_think: "no thought",
  no_answer: "no answer",
  empty_answer: "empty answer",
  unclosed: "a tag was not closed",
  text_outside: "text outside the tags",
  unknown_action: "an action that does not exist",
  cut_off: "cut off by the token limit",
  empty_response: "nothing but special tokens",
};
/** @type {Record<string, string>} */
export const STOPS = {
  success: "Solved.",
  terminated: "The environment ended the episode.",
  max_turns: "No turns were left.",
  max_actions: "No actions were left.",
  context_full: "The context was full.",
  fault: "The environment raised an error.",
};

const view = { raw: false, openPrompt: false, openResponse: false }; // kept from turn to turn

/**
 * Draws a turn. `tokens` is what the token panel begins with and reports; returns what keys call.
 * @param {HTMLElement} host
 * @param {TrajectoryRecord} record
 * @param {number} index
 * @param {TokenChoice & { changed: (choice: TokenChoice) => void }} tokens
 */
export function showTurn(host, record, index, tokens) {
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
  host.replaceChildren(html("div", "turn-head", {}, title, raw), body, panel);
  if (index === record.turns.length - 1) host.append(ending(record));
  open();
  return { move, toggleRaw };
}

/** @param {Turn} turn */
function parts(turn) {
  return [
    folded("Prompt: its messages", turn.prompt, "openPrompt", () => messageList(turn.messages)),
    section("Thought", textBlock(turn.thought, "The model wrote no thought."), copyButton(turn.thought)),
    section("Actions", actions(turn)),
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

/** @param {Turn} turn */
function actions(turn) {
  const list = html("ol", "turn-actions");
  for (const frame of turn.frames) {
    const outcome = `${frame.effective ? "changed the state" : "nothing changed"}${frame.reward ? `, reward ${signed(frame.reward)}` : ""}`;
    list.append(
      html(
        "li",
        frame.effective ? "" : "turn-action--idle",
        {},
        html("b", "mono", { textContent: visibleString(frame.action) }),
        html("span", "muted", { textContent: ` ${outcome}` }),
      ),
    );
  }
  // of an imported turn what the actions led to is not known
  for (const action of turn.frames.length ? [] : turn.executed) {
    list.append(html("li", "", {}, html("b", "mono", { textContent: visibleString(action) })));
  }
  const ignored = turn.parsed.slice(turn.executed.length);
  if (ignored.length) {
    list.append(html("li", "turn-action--idle", { textContent: `not done: ${ignored.map(visibleString).join(", ")}` }));
  }
  /** @type {HTMLElement[]} */
  const body = [list];
  if (!turn.frames.length) {
    const imported = turn.response_end === 0; // without tokens
    const why = imported ? "What the actions did is not in the file." : "No action was done.";
    body.unshift(html("p", "muted", { textContent: why }));
  }
  if (turn.surplus) body.unshift(html("p", "muted turn-surplus", { textContent: played(turn) }));
  if (turn.parse !== "ok") {
    const text = `The response: ${visibleString(PARSE[turn.parse] ?? turn.parse)}.`;
    body.unshift(html("p", "turn-fault", { textContent: text }));
  }
  return html("div", "", {}, ...body);
}

/** @param {TrajectoryRecord} record */
function ending(record) {
  const text = record.fault ? visibleString(record.fault) : (STOPS[record.stop] ?? visibleString(record.stop));
  return html("p", `turn-ending${record.success ? " turn-ending--solved" : ""}`, { textContent: text });
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
    ["Tokens sampled", String(sampled), "Only these are trained on, without those that are masked."],
    ["Tokens masked", String(masked), "Sampled, but not trained on: they spell surplus actions."],
    ["Tokens given", String(turn.response_start - turn.prompt_start), "Prompt tokens added before this response."],
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

/**
 * @param {unknown} value
 * @returns {value is number}
 */
const isNumber = (value) => typeof value === "number" && Number.isFinite(value);
/** @param {number | null} value */
const fixed = (value) => (isNumber(value) ? value.toFixed(3) : "–");
/** @param {number | null} value */
const signed = (value) => (isNumber(value) ? `${value > 0 ? "+" : ""}${value.toFixed(2)}` : "–");
