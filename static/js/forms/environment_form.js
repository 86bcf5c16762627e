// The preview of the environment form: first states, prompt and scripted players for the form's present values.

import { baselineBars } from "../environments/baselines.js";
import { drawBoard } from "../environments/board.js";
import { showMessages } from "../environments/messages.js";
import { post, problemsOf } from "../core/requests.js";
import { byId, control, find, findAll } from "../core/dom.js";
import { html } from "../core/html.js";
import { showText } from "../core/visible_text.js";
import { fixText, showErrors, watchVariants } from "./fields.js";

/** @import { Baseline, FormAnswer, Message, PreviewState } from "../types.js" */

const form = byId("environment-form", HTMLFormElement);
const seedField = byId("preview-seed", HTMLInputElement);
const problem = byId("preview-problem");
const warning = byId("preview-warning");
const STATES = 4;
const WAIT = 250;

/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;
let calls = new AbortController();
/** @type {Record<string, string>} what a refused save says of the name, which the preview does not check */
let nameError = { name: find(form, '[data-error="name"]').textContent ?? "" };

/** @typedef {FormAnswer & { states: PreviewState[], prompt: Message[], warning: string }} States */
/** @typedef {FormAnswer & { baselines: Baseline[] }} Baselines */

function schedule() {
  clearTimeout(timer);
  timer = setTimeout(refresh, WAIT);
}

async function refresh() {
  calls.abort();
  calls = new AbortController();
  const { signal } = calls;
  /** @type {States | null} */
  const states = await request("states", signal);
  if (!states) return;
  problem.hidden = Boolean(states.ok);
  const errors = states.ok ? {} : (states.errors ?? {});
  const others = showErrors(form, { ...nameError, ...errors });
  if (!states.ok) {
    showText(problem, fixText(Object.keys(errors).length, others));
    endWaiting("Shown once this is fixed.");
    return;
  }
  showStates(states);
  /** @type {Baselines | null} */
  const players = await request("baselines", signal);
  if (players?.ok) byId("preview-baselines").replaceChildren(baselineBars(players.baselines));
  else if (players) endWaiting(problemsOf(players));
}

/**
 * Says `why` in each part of the preview that still waits for its first content.
 * @param {string} why
 */
function endWaiting(why) {
  for (const waiting of findAll(document, ".environment-preview .skeleton")) {
    waiting.replaceWith(html("p", "muted", { textContent: why }));
  }
}

/**
 * @template {FormAnswer} T
 * @param {"states" | "baselines"} part
 * @param {AbortSignal} signal
 * @returns {Promise<T | null>}
 */
function request(part, signal) {
  const data = new FormData(form);
  data.set("part", part);
  data.set("seed", seedField.value || "0");
  return post(form.dataset.preview ?? "", data, signal);
}

/** @param {States} states */
function showStates({ states, prompt, warning: words }) {
  const host = byId("preview-states");
  host.replaceChildren(
    ...states.map((state) => {
      const caption = html("figcaption", "muted", { textContent: `seed ${state.seed} · ${solutionOf(state)}` });
      return html("figure", "preview-state", {}, html("div", "board", {}, drawBoard(state.drawing)), caption);
    }),
  );
  warning.hidden = !words;
  showText(warning, words);
  byId("preview-prompt-seed").textContent = String(states[0].seed);
  showMessages(byId("preview-prompt"), prompt);
}

/** @param {PreviewState} state */
function solutionOf({ solution, optimal_length: length }) {
  if (solution === "unknown") return "solution unknown";
  return solution === "impossible" ? "no solution" : `solved in ${length}`;
}

/** Shows the slots of wrappers in use, and one more. */
function showSlots() {
  const slots = findAll(form, ".wrapper-slot");
  const last = slots.findLastIndex((slot) => find(slot, "select", HTMLSelectElement).value !== "");
  slots.forEach((slot, index) => {
    slot.hidden = index > last + 1;
  });
}

watchVariants(form);
control(form, "name").addEventListener("input", () => {
  nameError = {};
});
form.addEventListener("change", showSlots);
form.addEventListener("input", schedule);
form.addEventListener("change", schedule);
seedField.addEventListener("input", schedule);
byId("preview-more").addEventListener("click", () => {
  seedField.value = String(Number(seedField.value || 0) + STATES);
  refresh();
});
refresh();
