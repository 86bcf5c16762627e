// The trajectory reader: which view, turn and frame are shown, and the keys that change them. turn.js draws a turn,
// transcript.js all of them.

import { describeChange, drawBoard } from "../environments/board.js";
import { byId, find, findAll, targetWithin } from "../core/dom.js";
import { withModifier } from "../core/keys.js";
import { copyBy } from "../core/clipboard.js";
import { focusFind, searchFrom, searchIn } from "./find_box.js";
import { showDivergence } from "./group_divergence.js";
import { showObservation } from "./observation.js";
import { readPosition, writePosition } from "./address.js";
import { drawStrips, markStrip } from "./turn_strips.js";
import { showFacts, showTurn } from "./turn.js";
import { stateAt, stateSeen } from "./turn_states.js";
import { drawTranscript, textsOf } from "./transcript.js";
import { html } from "../core/html.js";
import { showText, visibleString } from "../core/visible_text.js";

/** @import { Frame, Problem, Shade, TrajectoryRecord, Turn } from "../types.js" */
/** @import { View } from "./address.js" */
/** @import { Transcript } from "./transcript.js" */

const FRAME_MILLISECONDS = 800;
const reader = byId("reader");

/** @type {TrajectoryRecord | null} */
let record = null;
/** @type {ReturnType<typeof showTurn> | null} */
let keys = null;
/** @type {ReturnType<typeof setInterval> | undefined} */
let playing;
/** @type {Transcript | null} */
let transcript = null;

const state = {
  /** @type {View} */
  view: "turn",
  raw: false, // of the transcript
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
  const best = document.getElementById("reader-best"); // not on the pages of episodes of an evaluation
  if (best) best.hidden = answer.optimal_length === null; // no solver, or none that knows this problem
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
  find(reader, ".reader-views").hidden = true;
  byId("reader-tokens").hidden = true;
  byId("reader-scrubber").hidden = true;
}

/**
 * A trajectory without a turn: its prompt did not fit, or its environment raised at the start.
 * @param {TrajectoryRecord} empty
 */
function showEmpty(empty) {
  find(reader, ".reader-views").hidden = true;
  byId("reader-seen").replaceChildren(drawBoard(empty.initial?.drawing, { labels: true }));
  const why = empty.fault || `It ended before its first response: ${empty.stop}.`;
  byId("reader-turn").replaceChildren(html("p", "", { textContent: visibleString(why) }));
  for (const id of ["reader-state-after", "reader-outcome", "reader-tokens", "reader-scrubber"]) byId(id).hidden = true;
}

/** Goes to the position that the address names: a turn, or the turn of a token. */
function goToAddress() {
  const { view, turn, token, shade } = readPosition();
  showView(view);
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
  if (transcript) {
    transcript.goTo(state.turn);
    keepTurn(state.turn);
    return;
  }
  state.frame = clamp(frame, 0, turnNow().frames.length);
  const hosts = { response: byId("reader-turn"), outcome: byId("reader-outcome"), tokens: byId("reader-tokens") };
  keys = showTurn(hosts, record, state.turn, {
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
  showSeen(record);
  showFrame(record);
}

/** @param {View} view */
function showView(view) {
  if (!record) return;
  const isTranscript = view === "transcript";
  state.view = view;
  setPlaying(false);
  for (const id of ["reader-body", "reader-scrubber"]) byId(id).hidden = isTranscript;
  byId("reader-tokens").hidden = isTranscript || !record.tokens.text.length;
  for (const id of ["reader-find", "reader-transcript"]) byId(id).hidden = !isTranscript;
  for (const button of findAll(reader, "[data-view]")) {
    button.setAttribute("aria-pressed", String(button.dataset.view === view));
  }
  if (isTranscript && !transcript) showTranscript(record);
  if (!isTranscript) {
    transcript?.end();
    transcript = null;
  }
}

/** @param {TrajectoryRecord} whole */
function showTranscript(whole) {
  const host = byId("reader-transcript");
  transcript?.end();
  transcript = drawTranscript(host, whole, {
    raw: state.raw,
    onTurn: keepTurn,
    onOpen: (turn) => {
      state.turn = turn;
      changeView("turn");
      scrollTo({ top: 0 });
    },
  });
  searchIn(textsOf(host));
}

/** @param {View} view */
function changeView(view) {
  showView(view);
  goToTurn(state.turn);
}

/**
 * The turn that is being read, without moving the page.
 * @param {number} turn
 */
function keepTurn(turn) {
  state.turn = turn;
  state.token = null;
  searchFrom(turn);
  keepPosition();
}

function toggleRaw() {
  if (!transcript || !record) {
    keys?.toggleRaw();
    return;
  }
  state.raw = !state.raw;
  showTranscript(record);
  transcript.goTo(state.turn);
}

function openFind() {
  if (state.view !== "transcript") changeView("transcript");
  focusFind();
}

function keepPosition() {
  const links = findAll(reader, "#reader-before, #reader-after, a.member", HTMLAnchorElement);
  const { view, turn, shade } = state;
  writePosition({ view, turn: turn + 1, token: shade ? state.token : null, shade }, links);
}

/**
 * What the agent saw, which stays while frames are stepped through.
 * @param {TrajectoryRecord} whole
 */
function showSeen(whole) {
  const seen = stateSeen(whole, state.turn);
  byId("reader-seen").replaceChildren(drawBoard(seen.drawing, { labels: true }));
  showObservation(byId("reader-seen-observation"), seen.observation, undefined);
}

/**
 * Frame 0 is the state that the turn began with; frame n is the state after its nth action.
 * @param {TrajectoryRecord} whole
 */
function showFrame(whole) {
  const frames = turnNow().frames;
  const now = stateAt(whole, state.turn, state.frame);
  const before = state.frame > 0 ? stateAt(whole, state.turn, state.frame - 1) : null;
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

const atEnd = () => state.turn === turns().length - 1 && state.frame >= turnNow().frames.length;

/** @param {number} by */
function stepFrame(by) {
  if (!record) return;
  const next = state.frame + by;
  if (next >= 0 && next <= turnNow().frames.length) {
    state.frame = next;
    showFrame(record);
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
  r: toggleRaw,
  v: () => changeView(state.view === "turn" ? "transcript" : "turn"),
  "/": openFind,
  ArrowLeft: () => document.getElementById("reader-before")?.click(),
  ArrowRight: () => document.getElementById("reader-after")?.click(),
};
/** @type {Record<string, () => void>} */
const KEYS_OF_ONE_TURN = {
  ",": () => keys?.move(-1),
  ".": () => keys?.move(1),
  "[": () => stepFrame(-1),
  "]": () => stepFrame(1),
  " ": () => setPlaying(!playing),
};

document.addEventListener("keydown", (event) => {
  const typing = targetWithin(event, "input, select, textarea, [contenteditable]");
  const pressing = event.key === " " && targetWithin(event, "button, summary, a");
  if (withModifier(event) || typing || pressing || byId("reader-keys", HTMLDialogElement).open) return;
  const known = state.view === "turn" ? { ...KEYS, ...KEYS_OF_ONE_TURN } : KEYS;
  if (event.key === "?") {
    openKeys();
  } else if (Object.hasOwn(known, event.key) && (turns().length || event.key.startsWith("Arrow"))) {
    event.preventDefault();
    known[event.key]();
  }
});

function openKeys() {
  byId("reader-keys", HTMLDialogElement).showModal();
}

addEventListener("hashchange", () => turns().length && goToAddress());
byId("frame-before").addEventListener("click", () => stepFrame(-1));
byId("frame-after").addEventListener("click", () => stepFrame(1));
byId("reader-play").addEventListener("click", () => setPlaying(!playing));
for (const button of findAll(reader, "[data-view]")) {
  button.addEventListener("click", () => changeView(button.dataset.view === "transcript" ? "transcript" : "turn"));
}
byId("reader-help").addEventListener("click", openKeys);
document.getElementById("reader-diverge")?.addEventListener("click", () => showDivergence(byId("reader-members")));
byId("reader-copy").addEventListener("click", () => copyBy(byId("reader-copy"), location.href));
load();
