// The selected environment, before launch: a first state, and the success of scripted players.

import { baselineBars } from "../environments/baselines.js";
import { drawBoard } from "../environments/board.js";
import { byId } from "../core/dom.js";
import { csrfToken, post } from "../core/requests.js";

/** @import { Baseline, FormAnswer, PreviewState } from "../types.js" */

const SEED = "500000";
const preview = byId("first-state");
const choice = byId("run-environment", HTMLSelectElement);
let calls = new AbortController();

/** @typedef {FormAnswer & { states: PreviewState[] }} States */
/** @typedef {FormAnswer & { baselines: Baseline[] }} Baselines */

async function refresh() {
  calls.abort();
  calls = new AbortController();
  const { signal } = calls;
  /** @type {States | null} */
  const first = await request("states", signal);
  if (first === null) return;
  preview.hidden = !first.ok;
  if (!first.ok) return;
  byId("first-board").replaceChildren(drawBoard(first.states[0].drawing));
  /** @type {Baselines | null} */
  const players = await request("baselines", signal);
  if (players?.ok) byId("first-baselines").replaceChildren(baselineBars(players.baselines));
}

/**
 * @template {FormAnswer} T
 * @param {"states" | "baselines"} part
 * @param {AbortSignal} signal
 * @returns {Promise<T | null>}
 */
function request(part, signal) {
  const data = new FormData();
  data.set("csrfmiddlewaretoken", csrfToken());
  data.set("version", choice.value);
  data.set("part", part);
  data.set("seed", SEED);
  return post(preview.dataset.preview ?? "", data, signal);
}

choice.addEventListener("change", refresh);
if (choice.value) refresh();
