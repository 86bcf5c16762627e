// What a response led to: its actions with their effects, rewards, faults, and how the episode ended.

import { html } from "../core/html.js";
import { visibleString } from "../core/visible_text.js";
import { signed } from "./numbers.js";
import { played } from "./surplus.js";

/** @import { TrajectoryRecord, Turn } from "../types.js" */

/** @type {Record<string, string>} */
export const PARSE = {
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
  max_tokens: "The trajectory's limit of sampled tokens was reached.",
  context_full: "The context was full.",
  fault: "The environment raised an error.",
};

/**
 * Whether what the actions of a turn did is unknown, as in an imported file: there are no frames, and no tokens either.
 * @param {Turn} turn
 */
export const isImported = (turn) => !turn.frames.length && turn.response_end === 0;

/**
 * The parts of a turn's outcome, in order.
 * @param {TrajectoryRecord} record
 * @param {number} index
 * @returns {HTMLElement[]}
 */
export function outcomeOf(record, index) {
  const turn = record.turns[index];
  const parts = [fault(turn), cut(turn), surplus(turn), nothingDone(turn), actions(turn), rewards(turn)];
  return [...parts.filter((part) => part !== null), ...(index === record.turns.length - 1 ? [ending(record)] : [])];
}

/** @param {Turn} turn */
function fault({ parse }) {
  if (parse === "ok") return null;
  return html("p", "turn-fault", { textContent: `The response: ${visibleString(PARSE[parse] ?? parse)}.` });
}

/**
 * Which limit cut the response off, if one did.
 * @param {Turn} turn
 */
function cut({ cut: limit }) {
  if (!limit) return null;
  const textContent = `Cut off by the token limit of ${limit === "turn" ? "a response" : "the trajectory"}.`;
  return html("p", "muted turn-cut", { textContent });
}

/** @param {Turn} turn */
const surplus = (turn) => (turn.surplus ? html("p", "muted turn-surplus", { textContent: played(turn) }) : null);

/** @param {Turn} turn */
function nothingDone(turn) {
  if (turn.frames.length) return null;
  const why = isImported(turn) ? "What the actions did is not in the file." : "No action was done.";
  return html("p", "muted", { textContent: why });
}

/** @param {Turn} turn */
function actions({ frames, executed, parsed }) {
  const items = frames.map(({ action, effective, reward }) => {
    const effect = `${effective ? "changed the state" : "nothing changed"}${reward ? `, reward ${signed(reward)}` : ""}`;
    return item(action, effect, effective ? "" : "turn-action--idle");
  });
  // of an imported turn what the actions led to is not known
  if (!frames.length) items.push(...executed.map((action) => item(action)));
  const ignored = parsed.slice(executed.length);
  if (ignored.length) {
    const textContent = `not done: ${ignored.map(visibleString).join(", ")}`;
    items.push(html("li", "turn-action--idle", { textContent }));
  }
  return items.length ? html("ol", "turn-actions", {}, ...items) : null;
}

/**
 * @param {string} action
 * @param {string} [effect]
 * @param {string} [look]
 */
function item(action, effect = "", look = "") {
  const name = html("b", "mono", { textContent: visibleString(action) });
  return html("li", look, {}, name, ...(effect ? [html("span", "muted", { textContent: ` ${effect}` })] : []));
}

/** @param {Turn} turn */
function rewards({ reward, penalty }) {
  const parts = [`reward ${signed(reward)}`, penalty ? `penalty ${signed(penalty)}` : ""];
  return html("p", "muted turn-rewards", { textContent: parts.filter(Boolean).join(" · ") });
}

/** @param {TrajectoryRecord} record */
function ending({ fault: raised, stop, success }) {
  const text = raised ? visibleString(raised) : (STOPS[stop] ?? visibleString(stop));
  return html("p", `turn-ending${success ? " turn-ending--solved" : ""}`, { textContent: text });
}
