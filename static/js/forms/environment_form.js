// The preview of the environment form: first states, prompt and scripted players for the form's present values.

import { drawBoard } from "../environments/board.js";
import { showMessages } from "../environments/messages.js";
import { post } from "../core/requests.js";
import { byId } from "../core/dom.js";
import { html, svg } from "../core/html.js";
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
  const others = showErrors(form, errors);
  if (!states.ok) {
    problem.textContent = fixText(Object.keys(errors).length, others);
    return;
  }
  showStates(states);
  /** @type {Baselines | null} */
  const players = await request("baselines", signal);
  if (players?.ok) showBaselines(players.baselines);
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
      const length = state.optimal_length === null ? "no solution" : `solved in ${state.optimal_length}`;
      const caption = html("figcaption", "muted", { textContent: `seed ${state.seed} · ${length}` });
      return html("figure", "preview-state", {}, html("div", "board", {}, drawBoard(state.drawing)), caption);
    }),
  );
  warning.hidden = !words;
  warning.textContent = words;
  byId("preview-prompt-seed").textContent = String(states[0].seed);
  showMessages(byId("preview-prompt"), prompt);
}

/** @param {Baseline[]} baselines */
function showBaselines(baselines) {
  const list = html("dl", "baselines");
  for (const { player, success, episodes, mean_return: mean } of baselines) {
    const bar = svg(
      "svg",
      { class: "baseline-bar", viewBox: "0 0 100 8", preserveAspectRatio: "none", "aria-hidden": "true" },
      svg("rect", { width: success * 100, height: 8 }),
    );
    const number = html("span", "num", { textContent: `${Math.round(success * 100)}%` });
    const value = html("dd", "", { title: `${episodes} episodes, mean return ${mean.toFixed(2)}` }, bar, number);
    list.append(html("dt", "", { textContent: player }), value);
  }
  byId("preview-baselines").replaceChildren(list);
}

watchVariants(form);
form.addEventListener("input", schedule);
form.addEventListener("change", schedule);
seedField.addEventListener("input", schedule);
byId("preview-more").addEventListener("click", () => {
  seedField.value = String(Number(seedField.value || 0) + STATES);
  refresh();
});
refresh();
