// A fork beside its original: turns side by side, the forked ones as they are sampled, and where the two part.

import { drawBoard } from "../environments/board.js";
import { LiveSocket } from "../core/live_socket.js";
import { showConnection } from "../core/connection_status.js";
import { html } from "../core/html.js";
import { showText, visibleString } from "../core/visible_text.js";

const page = document.getElementById("what-if");
const rows = document.getElementById("what-if-turns");
const fork = Number(page.dataset.turn);

const state = { original: null, forked: new Map(), seq: 0, ended: false };
let socket = null;

const UNREAD = { error: { message: "Its trajectory could not be read.", remedy: "Reload this page." } };

async function ask(url) {
  const answer = await fetch(url, { headers: { Accept: "application/json" } });
  return answer.json();
}

/** An event counts once, whether the socket or a question while there was none brought it. */
function hear({ events = [], state: stands = state.stands }) {
  for (const event of events.filter((one) => one.seq > state.seq)) {
    state.seq = event.seq;
    TOLD[event.kind]?.(event);
  }
  state.stands = stands;
  if (!stands || state.ended) return;
  tell(progressOf(stands), [stands.message, stands.remedy].filter(Boolean).join(" "));
  if (!stands.live) end(stands);
}

/** Without a socket: what it would have said. */
async function poll() {
  try {
    for (let more = true; more && !state.ended;) {
      const answer = await ask(`${page.dataset.events}?after=${state.seq}`);
      more = answer.events.length > 0;
      hear(more ? { events: answer.events } : answer);
    }
    return true;
  } catch {
    return false;
  }
}

const TOLD = {
  loading: ({ device }) => {
    state.phase = `Loading the model on ${device === "cuda" ? "the GPU" : "the CPU"}`;
  },
  replayed: () => {
    state.phase = "Rolling on";
  },
  prompt: ({ turn, text }) => change(turn, { prompt: text }),
  words: ({ turn, text }) => change(turn, { response: (state.forked.get(turn)?.response ?? "") + text }),
  turn: ({ turn, kind, time, ...rest }) => change(turn, { ...rest, done: true }),
};

function change(turn, values) {
  state.forked.set(turn, { ...state.forked.get(turn), ...values });
  drawRow(turn);
}

const progressOf = (answer) => (answer.state === "running" && state.phase ? state.phase : answer.label);

function tell(status, message) {
  document.getElementById("what-if-status").textContent = status;
  document.getElementById("what-if-message").textContent = visibleString(message);
}

/** The whole record takes the place of what was told, with states to draw. */
async function end(answer) {
  state.ended = true;
  socket.end();
  document.getElementById("live").remove();
  document.getElementById("what-if-stop")?.remove();
  rows.removeAttribute("aria-busy");
  if (answer.state !== "finished") {
    drawAll();
    return;
  }
  const record = await ask(page.dataset.record).catch(() => UNREAD);
  if (record.error) {
    drawAll();
    tell(answer.label, `${record.error.message} ${record.error.remedy}`);
    return;
  }
  state.record = record;
  document.getElementById("what-if-fork").hidden = !record.turns.length;
  record.turns.forEach((turn, index) => {
    if (index >= fork) state.forked.set(index, { ...turn, done: true });
  });
  drawAll();
  const verdicts = [state.original && `${page.dataset.before}: ${verdict(state.original)}.`, `What if: ${verdict(record)}.`];
  tell(answer.label, [answer.message, ...verdicts].filter(Boolean).join(" "));
}

const verdict = (record) =>
  `${record.success ? "solved" : "not solved"}, return ${record.return.toFixed(2)}, ${record.turns.length} turns`;

function drawAll() {
  rows.replaceChildren();
  const turns = state.original?.turns ?? [];
  if (fork > 0 && turns.length) {
    const many = fork === 1 ? "Turn 1 was" : `Turns 1 to ${fork} were`;
    rows.append(html("p", "muted", { textContent: `${many} played again as recorded.` }));
  }
  const last = Math.max(turns.length, ...[...state.forked.keys()].map((turn) => turn + 1), fork + 1);
  for (let turn = fork; turn < last; turn += 1) drawRow(turn);
  markParting(last);
}

function drawRow(turn) {
  const id = `what-if-turn-${turn}`;
  const mine = state.original?.turns[turn];
  const other = state.forked.get(turn);
  const row = html(
    "section",
    "what-if-row",
    { id },
    html("h3", "", { textContent: `Turn ${turn + 1}` }),
    cell(page.dataset.before, mine, state.original ? "This episode was over." : "The original cannot be read."),
    cell("What if", other, absence()),
  );
  const before = document.getElementById(id);
  if (before) before.replaceWith(row);
  else rows.append(row);
}

function absence() {
  if (state.record) return "This episode was over.";
  return state.ended ? "Not reached." : "Not reached yet.";
}

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

function outcome(turn) {
  if (turn.executed === undefined) {
    const textContent = state.ended ? "was not sampled to its end" : "is being sampled …";
    return html("p", "muted", { textContent });
  }
  const done = turn.executed.map(visibleString).join(" ‖ ") || "nothing was done";
  const line = html("p", "", {}, html("b", "mono", { textContent: done }));
  line.append(html("span", "muted", { textContent: ` reward ${(turn.reward ?? 0).toFixed(2)}` }));
  if (turn.parse && turn.parse !== "ok") {
    line.append(html("span", "unparsed", { textContent: ` ${visibleString(turn.parse.replaceAll("_", " "))}` }));
  }
  return line;
}

function promptOf(turn) {
  if (!turn.prompt) return html("span", "");
  const text = html("pre", "model-text");
  showText(text, turn.prompt);
  return html("details", "", {}, html("summary", "", { textContent: "Prompt" }), text);
}

// Marks the first turn in which the two read, did or said something else. What they read is the cause of the rest.
function markParting(last) {
  for (let turn = fork; turn < last; turn += 1) {
    const [mine, other] = [state.original?.turns[turn], state.forked.get(turn)];
    if (!state.original || !(other ? other.done : state.record)) return; // nobody knows yet, or ever
    const why = difference(mine, other);
    if (!why) continue;
    const row = document.getElementById(`what-if-turn-${turn}`);
    row.classList.add("what-if-row--parts");
    row.querySelector("h3").textContent = `Turn ${turn + 1}: here they part, ${why}`;
    return;
  }
  if (state.record) rows.append(html("p", "muted", { textContent: "They are the same to the end." }));
}

function difference(mine, other) {
  if (!mine || !other) return "one of them was over";
  if (mine.prompt !== other.prompt) return "by what they were told";
  if (mine.executed.join("\n") !== (other.executed ?? []).join("\n")) return "by what they did";
  return mine.response === other.response ? "" : "by their words alone";
}

async function begin() {
  if (page.dataset.original) {
    try {
      const answer = await ask(page.dataset.original);
      state.original = answer.error ? null : answer;
    } catch {
      state.original = null;
    }
  }
  drawAll();
  socket = new LiveSocket({
    path: page.dataset.socket,
    after: () => state.seq,
    onMessage: hear,
    onState: showConnection,
    poll,
  });
}

begin();
