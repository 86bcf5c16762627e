// An episode played by hand. The state is its seed and the responses so far; the server plays them again at each move.

import { describeBoard, drawBoard } from "./board.js";
import { post, problemsOf } from "../core/requests.js";
import { html } from "../core/html.js";
import { showText, visibleString } from "../core/visible_text.js";

const panel = document.getElementById("play");
const form = panel.querySelector(".play-form");
const part = (name) => panel.querySelector(`.play-${name}`);
const button = (act) => panel.querySelector(`[data-act="${act}"]`);

let responses = [];
let chosen = [];
let episode = null;
let busy = false;

const STOPS = {
  success: "Solved.",
  terminated: "Over: the environment ended the episode unsolved.",
  max_turns: "Over: no turns are left.",
  max_actions: "Over: no actions are left.",
};

async function send(next) {
  if (busy) return;
  busy = true;
  const sent = chosen;
  chosen = []; // what is picked meanwhile belongs to the next response
  const answer = await post(panel.dataset.url, request(next));
  busy = false;
  part("problem").hidden = answer.ok;
  if (!answer.ok) {
    part("problem").textContent = problemsOf(answer);
    chosen = [...sent, ...chosen];
    return;
  }
  [responses, episode] = [next, answer];
  if (episode.now.stop) chosen = [];
  show();
  sendIfFull();
}

function request(next) {
  const source = panel.dataset.source === "form" ? document.getElementById("environment-form") : form;
  const data = new FormData(source);
  data.set("seed", form.elements.seed.value || "0");
  data.delete("raw");
  for (const response of next) data.append("response", response);
  return data;
}

function show() {
  const { now, turns } = episode;
  part("stage").hidden = false;
  showBoardOfNow();
  const actions = now.actions.map((name) => {
    const choose = html("button", "button", {
      type: "button",
      textContent: visibleString(name),
      disabled: Boolean(now.stop),
    });
    choose.addEventListener("click", () => pick(name));
    return choose;
  });
  part("actions").replaceChildren(...actions);
  part("left").textContent = now.stop
    ? ""
    : `${plural(now.turns_left, "turn")} and ${plural(now.actions_left, "action")} left`;
  part("log").replaceChildren(...turns.map(logEntry));
  if (now.stop)
    part("log").append(html("li", `play-end${now.success ? " play-end--solved" : ""}`, { textContent: summary(now) }));
  button("undo").disabled = !responses.length;
  button("raw").disabled = Boolean(now.stop);
  button("start").textContent = "Start again";
  showChosen();
}

/** The state now; what changed since the one before is marked. */
function showBoardOfNow() {
  const drawings = [
    episode.first.drawing,
    ...episode.turns.flatMap((turn) => turn.frames.map((frame) => frame.drawing)),
  ];
  part("board").replaceChildren(drawBoard(drawings.at(-1), { previous: drawings.at(-2) ?? null, labels: true }));
  part("board").setAttribute("aria-label", describeBoard(drawings.at(-1)));
}

function pick(name) {
  chosen.push(name);
  showChosen();
  sendIfFull();
}

function sendIfFull() {
  if (chosen.length && chosen.length >= allowance()) send([...responses, written(chosen)]);
}

/** Actions that one response may hold: what a turn allows, and what the budget leaves. */
const allowance = () => Math.min(episode.actions_per_turn, episode.now.actions_left);

const written = (names) => `<think></think><answer>${names.join(" || ")}</answer>`;

function showChosen() {
  part("chosen").textContent = chosen.length
    ? `Response: ${chosen.map(visibleString).join(" ‖ ")}`
    : "Choose actions; a full response is sent by itself.";
  if (episode?.now.stop) part("chosen").textContent = "";
  button("send").disabled = button("clear").disabled = !chosen.length;
}

function logEntry(turn, index) {
  const response = html("pre", "model-text");
  showText(response, turn.response);
  const penalty = turn.penalty ? `, penalty ${number(turn.penalty)}` : "";
  const did = turn.executed.length ? `did ${turn.executed.map(visibleString).join(", ")}` : "did nothing";
  const facts = `${turn.parse.replaceAll("_", " ")}: ${did}; reward ${number(turn.reward)}${penalty}`;
  const entry = html("li", "play-turn", {}, html("strong", "", { textContent: `Turn ${index + 1} ` }), facts, response);
  if (turn.answer) {
    const text = html("pre", "model-text");
    showText(text, turn.answer);
    entry.append(html("details", "", {}, html("summary", "", { textContent: "What the model is told" }), text));
  }
  return entry;
}

const number = (value) => String(Math.round(value * 1000) / 1000);
const plural = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;
const summary = (now) =>
  `${STOPS[now.stop] ?? "Over."} Return ${number(now.total_reward)}, penalty ${number(now.total_penalty)}.`;

button("start").addEventListener("click", () => send([]));
button("undo").addEventListener("click", () => send(responses.slice(0, -1)));
button("send").addEventListener("click", () => send([...responses, written(chosen)]));
button("raw").addEventListener("click", () => send([...responses, form.elements.raw.value]));
button("clear").addEventListener("click", () => {
  chosen = [];
  showChosen();
});
button("start").disabled = false; // it waits for this script
form.addEventListener("submit", (event) => event.preventDefault());
