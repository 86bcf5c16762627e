// The trajectory reader: which turn and frame are shown, and the keys that move them. What a turn looks like is elsewhere.

import { describeChange, drawBoard } from "../environments/board.js";
import { copyBy } from "../core/clipboard.js";
import { showDivergence } from "./group_divergence.js";
import { showObservation } from "./observation.js";
import { readPlace, writePlace } from "./address.js";
import { drawStrips, markStrip } from "./turn_strips.js";
import { showFacts, showTurn } from "./turn.js";
import { html } from "../core/html.js";
import { visibleString } from "../core/visible_text.js";

const FRAME_MILLISECONDS = 800;
const byId = (id) => document.getElementById(id);
const reader = byId("reader");

const state = { record: null, turn: 0, frame: 0, timer: 0, token: null, shade: "", keys: null };

async function load() {
  let answer;
  try {
    const response = await fetch(reader.dataset.url, { headers: { Accept: "application/json" } });
    answer = await response.json();
  } catch {
    answer = {
      error: {
        message: "The server did not answer with a trajectory.",
        remedy: "Reload this page; sign in again if asked.",
      },
    };
  }
  if (answer.error) {
    showError(answer.error);
    return;
  }
  state.record = answer;
  byId("reader-body").removeAttribute("aria-busy");
  if (!answer.turns.length) {
    showEmpty(answer);
    return;
  }
  drawStrips(byId("reader-strips"), answer, goToTurn);
  goToPlace();
}

function showError({ message, remedy }) {
  const panel = byId("reader-error");
  panel.querySelector(".reader-error-message").textContent = message;
  panel.querySelector(".reader-error-remedy").textContent = remedy;
  panel.hidden = false;
  byId("reader-body").hidden = true;
  reader.querySelector(".reader-scrubber").hidden = true;
}

/** A trajectory without a turn: its prompt did not fit, or its environment raised at the start. */
function showEmpty(record) {
  byId("reader-board").replaceChildren(drawBoard(record.initial?.drawing, { labels: true }));
  const why = record.fault || `It ended before its first response: ${record.stop}.`;
  byId("reader-turn").replaceChildren(html("p", "", { textContent: visibleString(why) }));
  reader.querySelector(".reader-scrubber").hidden = true;
}

/** To the place that the address names: a turn, or the turn that a token is of. */
function goToPlace() {
  const place = readPlace();
  state.shade = place.shade || (place.token === null ? state.shade : "probability");
  state.token = place.token;
  const holds = (turn) => state.token >= turn.prompt_start && state.token < turn.response_end;
  const ofToken = state.token === null ? -1 : state.record.turns.findIndex(holds);
  goToTurn(place.turn === null && ofToken >= 0 ? ofToken : (place.turn ?? 1) - 1);
}

const clamp = (value, low, high) => Math.min(Math.max(value, low), high);
const turnNow = () => state.record.turns[state.turn];

/** Shows a turn, from 0, with its last frame unless another is asked for. */
function goToTurn(index, frame = Infinity) {
  const last = state.record.turns.length - 1;
  state.turn = clamp(index, 0, last);
  state.frame = clamp(frame, 0, turnNow().frames.length);
  state.keys = showTurn(byId("reader-turn"), state.record, state.turn, {
    shade: state.shade,
    token: state.token,
    changed: ({ shade, token }) => {
      [state.shade, state.token] = [shade, token];
      keepPlace();
    },
  });
  showFacts(byId("reader-facts"), state.record, state.turn);
  markStrip(byId("reader-strips"), state.turn);
  showFrame();
}

function keepPlace() {
  const links = reader.querySelectorAll("#reader-before, #reader-after, a.member");
  writePlace({ turn: state.turn + 1, token: state.shade ? state.token : null, shade: state.shade }, links);
}

/** Frame 0 is the state that the turn began with; frame n is the state after its nth action. */
function showFrame() {
  const frames = turnNow().frames;
  const now = stateAt(state.turn, state.frame);
  const before = state.frame > 0 ? stateAt(state.turn, state.frame - 1) : null;
  byId("reader-board").replaceChildren(drawBoard(now.drawing, { previous: before?.drawing, labels: true }));
  byId("frame-change").textContent = before ? visibleString(describeChange(before.drawing, now.drawing)) : "";
  showObservation(byId("reader-observation"), now.observation, before?.observation);
  byId("frame-label").textContent = frameLabel(frames);
  byId("frame-before").disabled = state.turn === 0 && state.frame === 0;
  byId("frame-after").disabled = atEnd();
}

function frameLabel(frames) {
  if (state.frame === 0)
    return frames.length
      ? `before its ${frames.length === 1 ? "action" : `${frames.length} actions`}`
      : "no action was done";
  const { action, effective } = frames[state.frame - 1];
  return `${state.frame} of ${frames.length}: ${visibleString(action)}${effective ? "" : ", nothing changed"}`;
}

function stateAt(turn, frame) {
  if (frame > 0) return state.record.turns[turn].frames[frame - 1];
  for (let earlier = turn - 1; earlier >= 0; earlier -= 1) {
    const frames = state.record.turns[earlier].frames;
    if (frames.length) return frames.at(-1);
  }
  return state.record.initial;
}

const atEnd = () => state.turn === state.record.turns.length - 1 && state.frame >= turnNow().frames.length;

function stepFrame(by) {
  const next = state.frame + by;
  if (next >= 0 && next <= turnNow().frames.length) {
    state.frame = next;
    showFrame();
  } else if (by > 0 && !atEnd()) goToTurn(state.turn + 1, 1);
  else if (by < 0 && state.turn > 0) goToTurn(state.turn - 1);
}

function setPlaying(playing) {
  clearInterval(state.timer);
  state.timer = 0;
  const button = byId("reader-play");
  button.setAttribute("aria-pressed", String(playing));
  button.textContent = playing ? "❚❚ Pause" : "▶ Play";
  if (!playing) return;
  if (atEnd()) goToTurn(0, 0);
  state.timer = setInterval(() => {
    stepFrame(1);
    if (atEnd()) setPlaying(false);
  }, FRAME_MILLISECONDS);
}

const KEYS = {
  j: () => goToTurn(state.turn + 1),
  k: () => goToTurn(state.turn - 1),
  Home: () => goToTurn(0),
  End: () => goToTurn(Infinity),
  ",": () => state.keys.move(-1),
  ".": () => state.keys.move(1),
  r: () => state.keys.turnRaw(),
  "[": () => stepFrame(-1),
  "]": () => stepFrame(1),
  " ": () => setPlaying(!state.timer),
  ArrowLeft: () => byId("reader-before")?.click(),
  ArrowRight: () => byId("reader-after")?.click(),
};

document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input, select, textarea, [contenteditable]");
  const pressing = event.key === " " && event.target.closest("button, summary, a");
  if (event.ctrlKey || event.metaKey || event.altKey || typing || pressing || byId("reader-keys").open) return;
  if (event.key === "?") {
    openKeys();
  } else if (Object.hasOwn(KEYS, event.key) && (state.record?.turns.length || event.key.startsWith("Arrow"))) {
    event.preventDefault();
    KEYS[event.key]();
  }
});

function openKeys() {
  byId("reader-keys").showModal();
}

addEventListener("hashchange", () => state.record?.turns.length && goToPlace());
byId("frame-before").addEventListener("click", () => stepFrame(-1));
byId("frame-after").addEventListener("click", () => stepFrame(1));
byId("reader-play").addEventListener("click", () => setPlaying(!state.timer));
byId("reader-help").addEventListener("click", openKeys);
byId("reader-diverge")?.addEventListener("click", () => showDivergence(byId("reader-members")));
byId("reader-copy").addEventListener("click", (event) => copyBy(event.currentTarget, location.href));
load();
