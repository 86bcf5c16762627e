// Manual play of an episode. Its state is the seed and the responses so far, which the server replays at each turn.

import { byId, control, find } from "../core/dom.js";
import { describeBoard, drawBoard } from "./board.js";
import { post, problemsOf } from "../core/requests.js";
import { html } from "../core/html.js";
import { played } from "../reader/surplus.js";
import { showMessages } from "./messages.js";
import { splitAtLast } from "./suggestions.js";
import { showText, visible, visibleString } from "../core/visible_text.js";

/** @import { Drawing, FormAnswer, Frame, Message } from "../types.js" */

/**
 * @typedef {object} PlayedTurn
 * @property {string} response
 * @property {string} parse
 * @property {string[]} parsed
 * @property {number} surplus
 * @property {string[]} executed
 * @property {number} reward
 * @property {number} penalty
 * @property {string} answer
 * @property {Frame[]} frames
 */

/**
 * @typedef {object} PlayState
 * @property {string} stop
 * @property {boolean} success
 * @property {string[] | null} actions null where an action is free text
 * @property {string[]} suggestions of free text, where they can be listed
 * @property {number} turns_left
 * @property {number} actions_left
 * @property {number} total_reward
 * @property {number} total_penalty
 */

/**
 * @typedef {object} Episode
 * @property {{ drawing: Drawing }} first
 * @property {Message[]} prompt
 * @property {PlayState} now
 * @property {PlayedTurn[]} turns
 * @property {number} actions_per_turn
 * @property {string | null} separator between the actions of an answer; null: the whole answer is one action
 * @property {string} answer_form
 */

const panel = byId("play");
const form = find(panel, ".play-form", HTMLFormElement);
const part = (/** @type {string} */ name) => find(panel, `.play-${name}`);
const button = (/** @type {string} */ action) => find(panel, `[data-act="${action}"]`, HTMLButtonElement);

const answerField = control(form, "answer", HTMLTextAreaElement);
const filterField = control(form, "filter");
const MANY = 16; // names from here on can be searched
const MOST_BUTTONS = 120;

/** @type {string[]} */
let responses = [];
/** @type {string[]} */
let chosen = [];
/** @type {Episode | null} */
let episode = null;
let busy = false;
let sendWanted = false; // Send was pressed while an earlier response was on its way

/** @type {Record<string, string>} */
const STOPS = {
  success: "Solved.",
  terminated: "Over: the environment ended the episode unsolved.",
  max_turns: "Over: no turns are left.",
  max_actions: "Over: no actions are left.",
};

/**
 * @param {string[]} next
 * @param {string[]} left actions that were chosen for later responses
 */
async function send(next, left = []) {
  if (busy) return;
  busy = true;
  const before = chosen;
  chosen = [...left]; // actions chosen meanwhile are added
  /** @type {(FormAnswer & Episode) | null} */
  const answer = await post(panel.dataset.url ?? "", request(next));
  busy = false;
  if (!answer) return;
  part("problem").hidden = Boolean(answer.ok);
  if (!answer.ok) {
    answerField.value ||= lastText(next);
    showText(part("problem"), problemsOf(answer));
    chosen = [...before, ...chosen.slice(left.length)];
    sendWanted = false;
    return;
  }
  [responses, episode] = [next, answer];
  if (episode.now.stop) dropChosen();
  show(episode);
  if (sendWanted && chosen.length) sendChosen();
  else sendIfFull();
}

/**
 * The answer of the last response, to be corrected after a refusal.
 * @param {string[]} next
 */
const lastText = (next) =>
  next.length > responses.length ? (/<answer>([^]*)<\/answer>$/.exec(next.at(-1) ?? "")?.[1] ?? "") : "";

/** @param {string[]} next */
function request(next) {
  const source = panel.dataset.source === "form" ? byId("environment-form", HTMLFormElement) : form;
  const data = new FormData(source);
  data.set("seed", control(form, "seed").value || "0");
  for (const name of ["raw", "answer", "filter"]) data.delete(name);
  for (const response of next) data.append("response", response);
  return data;
}

/** @param {Episode} episode */
function show({ first, now, turns }) {
  part("stage").hidden = false;
  const frames = turns.flatMap((turn) => turn.frames);
  showBoard([first.drawing, ...frames.map((frame) => frame.drawing)]);
  showTask();
  showAnswering(now);
  part("left").textContent = now.stop
    ? ""
    : `${plural(now.turns_left, "turn")} and ${plural(now.actions_left, "action")} left`;
  part("log").replaceChildren(...turns.map(logEntry));
  if (now.stop) {
    part("log").append(html("li", `play-end${now.success ? " play-end--solved" : ""}`, { textContent: summary(now) }));
  }
  button("undo").disabled = !responses.length;
  button("raw").disabled = Boolean(now.stop);
  button("start").textContent = "Start again";
  showChosen();
}

/**
 * The actions of this state as buttons, or a field for free text.
 * @param {PlayState} now
 */
function showAnswering(now) {
  const free = now.actions === null;
  part("free").hidden = !free;
  part("named").hidden = free;
  if (free) showField(now);
  else showNames();
}

/** The first prompt: open where one has to know what to write. */
function showTask() {
  showMessages(find(part("task"), ".messages"), episode?.prompt ?? []);
  if (!responses.length) part("task").toggleAttribute("open", episode?.now.actions === null);
}

/** @param {PlayState} now */
function showField({ stop, suggestions }) {
  const whole = episode?.separator === null;
  const most = allowance();
  const several = !whole && most > 1;
  const long = whole && !suggestions.length;
  const one = asShown(answerForm(suggestions));
  part("form-name").textContent = several ? "Actions" : "Action";
  answerField.placeholder = several ? `${one} ${episode?.separator} ${one}` : one;
  part("how").textContent = several
    ? `Up to ${plural(most, "action")}, with ${episode?.separator} between them. Enter sends it.`
    : `${long ? "Ctrl+Enter" : "Enter"} sends it.`;
  answerField.rows = long ? 3 : 1;
  answerField.disabled = button("answer").disabled = Boolean(stop);
  showSuggestions();
}

/**
 * What the environment asks for; of one that only says `action`, an example.
 * @param {string[]} suggestions
 */
function answerForm(suggestions) {
  const asked = episode?.answer_form ?? "action";
  return asked === "action" ? (suggestions[0] ?? asked) : asked;
}

/** Suggestions with what has been written of the present action; a click completes it. */
function showSuggestions() {
  const all = episode?.now.stop ? [] : (episode?.now.suggestions ?? []);
  const [before, begun] = splitAtLast(answerField.value, episode?.separator ?? null);
  const wanted = begun.trim().toLowerCase();
  const fitting = all.filter((text) => text.toLowerCase().includes(wanted));
  const buttons = fitting.slice(0, MOST_BUTTONS).map((text) => {
    const made = html("button", "button button--small mono", { type: "button", textContent: asShown(text) });
    made.addEventListener("click", () => fillIn(before, text));
    return made;
  });
  part("suggestions").hidden = !buttons.length;
  part("suggestions").replaceChildren(...buttons);
}

/**
 * Empty brackets are for words of one's own.
 * @param {string} text
 */
const asShown = (text) => visibleString(text.replace(/\[\]$/, "[…]"));

/**
 * @param {string} before
 * @param {string} text
 */
function fillIn(before, text) {
  answerField.value = `${before}${text}`;
  answerField.focus();
  const end = answerField.value.length - (text.endsWith("[]") ? 1 : 0);
  answerField.setSelectionRange(end, end);
}

/** Buttons of the actions that the filter lets through. */
function showNames() {
  const names = episode?.now.actions ?? [];
  part("filter").hidden = names.length <= MANY;
  const wanted = names.length > MANY ? filterField.value.trim().toLowerCase() : "";
  const fitting = names.filter((name) => name.toLowerCase().includes(wanted));
  /** @type {HTMLElement[]} */
  const buttons = fitting.slice(0, MOST_BUTTONS).map((name) => {
    const choice = html("button", "button", {
      type: "button",
      textContent: visibleString(name),
      disabled: Boolean(episode?.now.stop),
    });
    choice.addEventListener("click", () => choose(name));
    return choice;
  });
  const left = fitting.length - buttons.length;
  if (left > 0) buttons.push(note(`and ${left} more: type a part of its name`));
  part("actions").replaceChildren(...(buttons.length ? buttons : [note("No action name contains this.")]));
}

/** @param {string} textContent */
const note = (textContent) => html("span", "muted", { textContent });

function sendAnswer() {
  if (busy || button("answer").disabled || !answerField.value.trim()) return;
  const text = answerField.value;
  answerField.value = "";
  showSuggestions();
  send([...responses, inTags(text)]);
}

/**
 * Shows the last drawing; what changed since the one before is marked.
 * @param {Drawing[]} drawings
 */
function showBoard(drawings) {
  const now = drawings[drawings.length - 1];
  part("board").replaceChildren(drawBoard(now, { previous: drawings.at(-2) ?? null, labels: true }));
  part("board").setAttribute("aria-label", visible(describeBoard(now)));
}

/** @param {string} name */
function choose(name) {
  chosen.push(name);
  showChosen();
  sendIfFull();
}

function sendIfFull() {
  if (chosen.length && chosen.length >= allowance()) sendChosen();
}

/** The chosen actions, as many as a response may contain; what is more follows in the next one. */
function sendChosen() {
  const left = chosen.slice(allowance());
  if (!left.length) sendWanted = false;
  send([...responses, written(chosen.slice(0, allowance()))], left);
}

function dropChosen() {
  chosen = [];
  sendWanted = false;
}

/** Actions that one response may contain: what a turn allows, and what the budget leaves. */
const allowance = () => (episode ? Math.min(episode.actions_per_turn, episode.now.actions_left) : Infinity);

/** @param {string[]} names */
const written = (names) => inTags(names.join(episode?.separator ? ` ${episode.separator} ` : ""));
/** @param {string} answer */
const inTags = (answer) => `<think></think><answer>${answer}</answer>`;

function showChosen() {
  part("chosen").textContent = chosen.length
    ? `Response: ${chosen.map(visibleString).join(" ‖ ")}`
    : "Choose actions; a full response is sent automatically.";
  if (episode?.now.stop) part("chosen").textContent = "";
  button("send").disabled = button("clear").disabled = !chosen.length;
}

/**
 * @param {PlayedTurn} turn
 * @param {number} index
 */
function logEntry(turn, index) {
  const response = html("pre", "model-text");
  showText(response, turn.response);
  const penalty = turn.penalty ? `, penalty ${number(turn.penalty)}` : "";
  const did = turn.executed.length ? `did ${turn.executed.map(visibleString).join(", ")}` : "did nothing";
  const surplus = turn.surplus ? ` (${played(turn)})` : "";
  const facts = `${turn.parse.replaceAll("_", " ")}: ${did}${surplus}; reward ${number(turn.reward)}${penalty}`;
  const entry = html("li", "play-turn", {}, html("strong", "", { textContent: `Turn ${index + 1} ` }), facts, response);
  if (turn.answer) {
    const text = html("pre", "model-text");
    showText(text, turn.answer);
    const open = episode?.now.actions === null && index === episode.turns.length - 1;
    entry.append(html("details", "", { open }, html("summary", "", { textContent: "What the model is shown" }), text));
  }
  return entry;
}

/** @param {number} value */
const number = (value) => String(Math.round(value * 1000) / 1000);
/**
 * @param {number} count
 * @param {string} word
 */
const plural = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;
/** @param {PlayState} now */
const summary = (now) =>
  `${STOPS[now.stop] ?? "Over."} Return ${number(now.total_reward)}, penalty ${number(now.total_penalty)}.`;

button("start").addEventListener("click", () => send([]));
button("undo").addEventListener("click", () => send(responses.slice(0, -1)));
button("send").addEventListener("click", () => {
  if (busy) sendWanted = true;
  else sendChosen();
});
button("raw").addEventListener("click", () => send([...responses, control(form, "raw", HTMLTextAreaElement).value]));
button("answer").addEventListener("click", sendAnswer);
answerField.addEventListener("keydown", (event) => {
  const sends =
    event.key === "Enter" && (event.ctrlKey || event.metaKey || (answerField.rows === 1 && !event.shiftKey));
  if (!sends || event.isComposing) return;
  event.preventDefault();
  sendAnswer();
});
answerField.addEventListener("input", showSuggestions);
filterField.addEventListener("input", showNames);
button("clear").addEventListener("click", () => {
  dropChosen();
  showChosen();
});
button("start").disabled = false; // it waits for this script
form.addEventListener("submit", (event) => event.preventDefault());
