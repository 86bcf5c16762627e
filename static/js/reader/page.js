// The trajectory reader: which turn and frame are shown, and the keys that change them. Turns are drawn by turn.js.

import { describeChange, drawBoard } from "../environments/board.js";
import { byId, find, findAll, targetWithin } from "../core/dom.js";
import { withModifier } from "../core/keys.js";
import { copyBy } from "../core/clipboard.js";
import { showDivergence } from "./group_divergence.js";
import { showObservation } from "./observation.js";
import { readPosition, writePosition } from "./address.js";
import { drawStrips, markStrip } from "./turn_strips.js";
import { showFacts, showTurn } from "./turn.js";
import { html } from "../core/html.js";
import { showText, visibleString } from "../core/visible_text.js";

/** @import { Drawing, Frame, Problem, Shade, TrajectoryRecord, Turn } from "../types.js" */

const FRAME_MILLISECONDS = 800;
const reader = byId("reader");

/** @type {TrajectoryRecord | null} */
let record = null;
/** @type {ReturnType<typeof showTurn> | null} */
let keys = null;
/** @type {ReturnType<typeof setInterval> | undefined} */
let playing;

const state = {
  turn: 0,
  frame: 0,
  /** @type {number | null} */
  token: null,
  /** @type {Shade | ""} */
  shade: "",
};

async function load() {
  /** @type {TrajectoryRecord & { error?: Problem }} */
  let answer;
  try {
    const response = await fetch(reader.dataset.url ?? "", { headers: { Accept: "application/json" } });
    answer = await response.json();
  } catch {
    showError({
      message: "The server did not answer with a trajectory.",
      remedy: "Reload this page; sign in again if necessary.",
    });
    return;
  }
  if (answer.error) {
    showError(answer.error);
    return;
  }
  record = answer;
  byId("reader-body").removeAttribute("aria-busy");
  byId("reader-best").hidden = answer.optimal_length === null; // no solver, or none that knows this problem
  if (!answer.turns.length) {
    showEmpty(answer);
    return;
  }
  drawStrips(byId("reader-strips"), answer, goToTurn);
  goToAddress();
}

/** @param {Problem} problem */
function showError({ message, remedy }) {
  const panel = byId("reader-error");
  showText(find(panel, ".reader-error-message"), message);
  showText(find(panel, ".reader-error-remedy"), remedy);
  panel.hidden = false;
  byId("reader-body").hidden = true;
  find(reader, ".reader-scrubber").hidden = true;
}

/**
 * A trajectory without a turn: its prompt did not fit, or its environment raised at the start.
 * @param {TrajectoryRecord} empty
 */
function showEmpty(empty) {
  byId("reader-board").replaceChildren(drawBoard(empty.initial?.drawing, { labels: true }));
  const why = empty.fault || `It ended before its first response: ${empty.stop}.`;
  byId("reader-turn").replaceChildren(html("p", "", { textContent: visibleString(why) }));
  find(reader, ".reader-scrubber").hidden = true;
}

/** Goes to the position that the address names: a turn, or the turn of a token. */
function goToAddress() {
  const { turn, token, shade } = readPosition();
  state.shade = shade || (token === null ? state.shade : "probability");
  state.token = token;
  const isOf = (/** @type {Turn} */ one) => token !== null && token >= one.prompt_start && token < one.response_end;
  const ofToken = turns().findIndex(isOf);
  goToTurn(turn === null && ofToken >= 0 ? ofToken : (turn ?? 1) - 1);
}

/**
 * @param {number} value
 * @param {number} low
 * @param {number} high
 */
const clamp = (value, low, high) => Math.min(Math.max(value, low), high);
const turns = () => record?.turns ?? [];
const turnNow = () => turns()[state.turn];

/**
 * Shows a turn, from 0, at its last frame unless another is requested.
 * @param {number} index
 */
function goToTurn(index, frame = Infinity) {
  if (!record) return;
  state.turn = clamp(index, 0, turns().length - 1);
  state.frame = clamp(frame, 0, turnNow().frames.length);
  keys = showTurn(byId("reader-turn"), record, state.turn, {
    shade: state.shade,
    token: state.token,
    changed: ({ shade, token }) => {
      state.shade = shade;
      state.token = token;
      keepPosition();
    },
  });
  showFacts(byId("reader-facts"), record, state.turn);
  markStrip(byId("reader-strips"), state.turn);
  showFrame();
}

function keepPosition() {
  const links = findAll(reader, "#reader-before, #reader-after, a.member", HTMLAnchorElement);
  writePosition({ turn: state.turn + 1, token: state.shade ? state.token : null, shade: state.shade }, links);
}

/** Frame 0 is the state that the turn began with; frame n is the state after its nth action. */
function showFrame() {
  const frames = turnNow().frames;
  const now = stateAt(state.turn, state.frame);
  const before = state.frame > 0 ? stateAt(state.turn, state.frame - 1) : null;
  byId("reader-board").replaceChildren(drawBoard(now.drawing, { previous: before?.drawing, labels: true }));
  const change = before && now.drawing ? describeChange(before.drawing, now.drawing) : "";
  byId("frame-change").textContent = visibleString(change);
  showObservation(byId("reader-observation"), now.observation, before?.observation);
  byId("frame-label").textContent = frameLabel(frames);
  byId("frame-before", HTMLButtonElement).disabled = state.turn === 0 && state.frame === 0;
  byId("frame-after", HTMLButtonElement).disabled = atEnd();
}

/** @param {Frame[]} frames */
function frameLabel(frames) {
  if (state.frame === 0) {
    return frames.length
      ? `before its ${frames.length === 1 ? "action" : `${frames.length} actions`}`
      : "no action was done";
  }
  const { action, effective } = frames[state.frame - 1];
  return `${state.frame} of ${frames.length}: ${visibleString(action)}${effective ? "" : ", nothing changed"}`;
}

/**
 * @param {number} turn
 * @param {number} frame
 * @returns {{ drawing?: Drawing, observation?: string }}
 */
function stateAt(turn, frame) {
  if (frame > 0) return turns()[turn].frames[frame - 1];
  for (let earlier = turn - 1; earlier >= 0; earlier -= 1) {
    const { frames } = turns()[earlier];
    if (frames.length) return frames[frames.length - 1];
  }
  return record?.initial ?? {};
}

const atEnd = () => state.turn === turns().length - 1 && state.frame >= turnNow().frames.length;

/** @param {number} by */
function stepFrame(by) {
  const next = state.frame + by;
  if (next >= 0 && next <= turnNow().frames.length) {
    state.frame = next;
    showFrame();
  } else if (by > 0 && !atEnd()) goToTurn(state.turn + 1, 1);
  else if (by < 0 && state.turn > 0) goToTurn(state.turn - 1);
}

/** @param {boolean} on */
function setPlaying(on) {
  clearInterval(playing);
  playing = undefined;
  const button = byId("reader-play");
  button.setAttribute("aria-pressed", String(on));
  button.textContent = on ? "❚❚ Pause" : "▶ Play";
  if (!on) return;
  if (atEnd()) goToTurn(0, 0);
  playing = setInterval(() => {
    stepFrame(1);
    if (atEnd()) setPlaying(false);
  }, FRAME_MILLISECONDS);
}

/** @type {Record<string, () => void>} */
const KEYS = {
  j: () => goToTurn(state.turn + 1),
  k: () => goToTurn(state.turn - 1),
  Home: () => goToTurn(0),
  End: () => goToTurn(Infinity),
  ",": () => keys?.move(-1),
  ".": () => keys?.move(1),
  r: () => keys?.toggleRaw(),
  "[": () => stepFrame(-1),
  "]": () => stepFrame(1),
  " ": () => setPlaying(!playing),
  ArrowLeft: () => document.getElementById("reader-before")?.click(),
  ArrowRight: () => document.getElementById("reader-after")?.click(),
};

document.addEventListener("keydown", (event) => {
  const typing = targetWithin(event, "input, select, textarea, [contenteditable]");
  const pressing = event.key === " " && targetWithin(event, "button, summary, a");
  if (withModifier(event) || typing || pressing || byId("reader-keys", HTMLDialogElement).open) return;
  if (event.key === "?") {
    openKeys();
  } else if (Object.hasOwn(KEYS, event.key) && (turns().length || event.key.startsWith("Arrow"))) {
    event.preventDefault();
    KEYS[event.key]();
  }
});

function openKeys() {
  byId("reader-keys", HTMLDialogElement).showModal();
}

addEventListener("hashchange", () => turns().length && goToAddress());
byId("frame-before").addEventListener("click", () => stepFrame(-1));
byId("frame-after").addEventListener("click", () => stepFrame(1));
byId("reader-play").addEventListener("click", () => setPlaying(!playing));
byId("reader-help").addEventListener("click", openKeys);
document.getElementById("reader-diverge")?.addEventListener("click", () => showDivergence(byId("reader-members")));
byId("reader-copy").addEventListener("click", () => copyBy(byId("reader-copy"), location.href));
load();
