// A what-if and its original, turn by turn: new turns as they are sampled, and where the two diverge.

import { byId, find } from "../core/dom.js";
import { drawBoard } from "../environments/board.js";
import { LiveSocket } from "../core/live_socket.js";
import { showConnection } from "../core/connection_status.js";
import { html } from "../core/html.js";
import { STOPS } from "./outcome.js";
import { showText, visibleString } from "../core/visible_text.js";

/**
 * @import {
 *   Problem,
 *   SocketUpdate,
 *   TrajectoryRecord,
 *   Turn,
 *   WhatIfEvent,
 *   WhatIfState,
 *   WhatIfTurn,
 * } from "../types.js"
 */

const page = byId("what-if");
const rows = byId("what-if-turns");
const fork = Number(page.dataset.turn);

/** @typedef {TrajectoryRecord & { error?: undefined }} ReadRecord */
/** @typedef {{ error: Problem }} Unread */
/** @typedef {SocketUpdate<WhatIfEvent, WhatIfState>} WhatIfUpdate */

/** @type {TrajectoryRecord | null} */
let original = null;
/** @type {TrajectoryRecord | null} the whole record, once there is one */
let record = null;
/** @type {WhatIfState | undefined} */
let progress;
/** @type {LiveSocket<WhatIfUpdate> | null} */
let socket = null;
/** @type {Map<number, WhatIfTurn>} */
const forked = new Map();
let phase = "";
let newestSeq = 0;
let ended = false;

/** @type {Unread} */
const UNREAD = { error: { message: "Its trajectory could not be read.", remedy: "Reload this page." } };

/**
 * @template T
 * @param {string} url
 * @returns {Promise<T>}
 */
async function fetchJson(url) {
  const answer = await fetch(url, { headers: { Accept: "application/json" } });
  return answer.json();
}

/**
 * Takes events, each once, whether the socket or polling brought it.
 * @param {Pick<WhatIfUpdate, "events" | "state">} pick
 */
function receive({ events = [], state = progress }) {
  for (const event of events.filter((one) => one.seq > newestSeq)) {
    newestSeq = event.seq;
    apply(event);
  }
  progress = state;
  if (!state || ended) return;
  showStatus(labelOf(state), [state.message, state.remedy].filter(Boolean).join(" "));
  if (!state.live) end(state);
}

/** Without a socket: what it would have sent. */
async function poll() {
  try {
    for (let more = true; more && !ended;) {
      /** @type {{ events: WhatIfEvent[], state: WhatIfState }} */
      const { events, state } = await fetchJson(`${page.dataset.events}?after=${newestSeq}`);
      more = events.length > 0;
      receive(more ? { events } : { state });
    }
    return true;
  } catch {
    return false;
  }
}

/** @param {WhatIfEvent} event */
function apply(event) {
  switch (event.kind) {
    case "loading":
      phase = `Loading the model on ${event.device === "cuda" ? "the GPU" : "the CPU"}`;
      break;
    case "replayed":
      phase = "Continuing the rollout";
      break;
    case "prompt":
      change(event.turn, { prompt: event.text });
      break;
    case "text":
      change(event.turn, { response: (forked.get(event.turn)?.response ?? "") + event.text });
      break;
    case "turn":
      change(event.turn, { ...event, done: true });
      break;
    default:
  }
}

/**
 * @param {number} turn
 * @param {WhatIfTurn} values
 */
function change(turn, values) {
  forked.set(turn, { ...forked.get(turn), ...values });
  drawRow(turn);
}

/** @param {WhatIfState} state */
const labelOf = (state) => (state.state === "running" && phase ? phase : state.label);

/**
 * @param {string} status
 * @param {string} message
 */
function showStatus(status, message) {
  byId("what-if-status").textContent = status;
  byId("what-if-message").textContent = visibleString(message);
}

/**
 * Shows the whole record, which has states to draw, instead of what the events brought.
 * @param {WhatIfState} state
 */
async function end(state) {
  ended = true;
  socket?.end();
  byId("live").remove();
  document.getElementById("what-if-stop")?.remove();
  rows.removeAttribute("aria-busy");
  if (state.state !== "finished") {
    drawAll();
    return;
  }
  /** @type {ReadRecord | Unread} */
  const answer = await fetchJson(page.dataset.record ?? "").catch(() => UNREAD);
  if (answer.error) {
    drawAll();
    showStatus(state.label, `${answer.error.message} ${answer.error.remedy}`);
    return;
  }
  record = answer;
  byId("what-if-fork").hidden = !answer.turns.length;
  answer.turns.forEach((turn, index) => {
    if (index >= fork) forked.set(index, { ...turn, done: true });
  });
  drawAll();
  const outcomes = [original && `${page.dataset.before}: ${outcomeOf(original)}.`, `What-if: ${outcomeOf(answer)}.`];
  showStatus(state.label, [state.message, ...outcomes].filter(Boolean).join(" "));
}

/** @param {TrajectoryRecord} trajectoryRecord */
function outcomeOf({ success, return: total, turns, stop }) {
  const count = `${turns.length} turn${turns.length === 1 ? "" : "s"}`;
  const why = success
    ? ""
    : (STOPS[stop] ?? "").replace(/\.$/, "").replace(/^./, (first) => `; ${first.toLowerCase()}`);
  return `${success ? "solved" : "not solved"}, return ${total.toFixed(2)}, ${count}${why}`;
}

function drawAll() {
  rows.replaceChildren();
  const turns = original?.turns ?? [];
  if (fork > 0 && turns.length) {
    const many = fork === 1 ? "Turn 1 was" : `Turns 1 to ${fork} were`;
    rows.append(html("p", "muted", { textContent: `${many} replayed as recorded.` }));
  }
  const last = Math.max(turns.length, ...[...forked.keys()].map((turn) => turn + 1), fork + 1);
  for (let turn = fork; turn < last; turn += 1) drawRow(turn);
  markDivergence(last);
}

/** @param {number} turn */
function drawRow(turn) {
  const id = `what-if-turn-${turn}`;
  const mine = original?.turns[turn];
  const other = forked.get(turn);
  const row = html(
    "section",
    "what-if-row",
    { id },
    html("h3", "", { textContent: `Turn ${turn + 1}` }),
    cell(page.dataset.before ?? "", mine, original ? "This episode had ended." : "The original cannot be read."),
    cell("What-if", other, absence()),
  );
  const before = document.getElementById(id);
  if (before) before.replaceWith(row);
  else rows.append(row);
}

function absence() {
  if (record) return "This episode had ended.";
  return ended ? "Not reached." : "Not reached yet.";
}

/**
 * @param {string} side
 * @param {WhatIfTurn | undefined} turn
 * @param {string} absent
 */
function cell(side, turn, absent) {
  const label = html("p", "what-if-side", { textContent: side });
  if (!turn) {
    const why = html("p", "", { textContent: absent });
    return html("article", "panel what-if-cell what-if-cell--plain muted", {}, label, why);
  }
  const drawing = turn.frames?.at(-1)?.drawing;
  const text = html("pre", "model-text");
  showText(text, turn.response ?? "");
  const facts = html("div", "", {}, label, outcome(turn), text, promptOf(turn));
  if (!drawing) return html("article", "panel what-if-cell what-if-cell--plain", {}, facts);
  return html("article", "panel what-if-cell", {}, html("div", "board", {}, drawBoard(drawing)), facts);
}

/** @param {WhatIfTurn} turn */
function outcome(turn) {
  if (turn.executed === undefined) {
    const textContent = ended ? "was not sampled to its end" : "is being sampled …";
    return html("p", "muted", { textContent });
  }
  const done = turn.executed.map(visibleString).join(" ‖ ") || "no action executed";
  const line = html("p", "", {}, html("b", "mono", { textContent: done }));
  line.append(html("span", "muted", { textContent: ` reward ${(turn.reward ?? 0).toFixed(2)}` }));
  if (turn.parse && turn.parse !== "ok") {
    line.append(html("span", "malformed", { textContent: ` ${visibleString(turn.parse.replaceAll("_", " "))}` }));
  }
  return line;
}

/** @param {WhatIfTurn} turn */
function promptOf(turn) {
  if (!turn.prompt) return html("span", "");
  const text = html("pre", "model-text");
  showText(text, turn.prompt);
  return html("details", "", {}, html("summary", "", { textContent: "Prompt" }), text);
}

/**
 * Marks the first turn with another prompt or other actions; before it the first one in which only the words differ.
 * @param {number} last
 */
function markDivergence(last) {
  let isWorded = false;
  for (let turn = fork; turn < last; turn += 1) {
    const [mine, other] = [original?.turns[turn], forked.get(turn)];
    if (!original || !(other ? other.done : record)) return; // not known yet, or never
    const why = difference(mine, other);
    if (why) {
      mark(turn, "what-if-row--diverges", `diverges here, ${why}`);
      return;
    }
    if (!isWorded && mine?.response !== other?.response) {
      mark(turn, "what-if-row--words", "the same actions in other words");
      isWorded = true;
    }
  }
  if (!record) return;
  const textContent = isWorded ? "Their actions are the same to the end." : "They are the same to the end.";
  rows.append(html("p", "muted", { textContent }));
}

/**
 * @param {number} turn
 * @param {string} look
 * @param {string} words
 */
function mark(turn, look, words) {
  const row = byId(`what-if-turn-${turn}`);
  row.classList.add(look);
  find(row, "h3").textContent = `Turn ${turn + 1}: ${words}`;
}

/**
 * @param {Turn | undefined} mine
 * @param {WhatIfTurn | undefined} other
 */
function difference(mine, other) {
  if (!mine || !other) return "one of them has ended";
  if (mine.prompt !== other.prompt) return "in the prompt";
  return mine.executed.join("\n") === (other.executed ?? []).join("\n") ? "" : "in the actions";
}

async function begin() {
  if (page.dataset.original) {
    try {
      /** @type {ReadRecord | Unread} */
      const answer = await fetchJson(page.dataset.original);
      original = answer.error ? null : answer;
    } catch {
      original = null;
    }
  }
  drawAll();
  /** @type {LiveSocket<WhatIfUpdate>} */
  const live = new LiveSocket({
    path: page.dataset.socket ?? "",
    after: () => newestSeq,
    onMessage: (/** @type {WhatIfUpdate} */ message) => receive(message),
    onState: showConnection,
    poll,
  });
  socket = live;
}

begin();
