// The preview beside the environment form: first states, prompt and scripted players of what the form says now.

import { drawBoard } from "../environments/board.js";
import { showMessages } from "../environments/messages.js";
import { post, problemsOf } from "../core/requests.js";
import { html, svg } from "../core/html.js";

const form = document.getElementById("environment-form");
const seedField = document.getElementById("preview-seed");
const problem = document.getElementById("preview-problem");
const warning = document.getElementById("preview-warning");
const STATES = 4;
const WAIT = 250;

let timer = 0;
let calls = new AbortController();

function schedule() {
  clearTimeout(timer);
  timer = setTimeout(refresh, WAIT);
}

async function refresh() {
  calls.abort();
  calls = new AbortController();
  const { signal } = calls;
  const states = await ask("states", signal);
  if (!states) return;
  problem.hidden = states.ok;
  markFields(states.ok ? {} : states.errors);
  if (!states.ok) {
    problem.textContent = problemsOf(states);
    return;
  }
  showStates(states);
  const players = await ask("baselines", signal);
  if (players?.ok) showBaselines(players.baselines);
}

function ask(part, signal) {
  const data = new FormData(form);
  data.set("part", part);
  data.set("seed", seedField.value || "0");
  return post(form.dataset.preview, data, signal);
}

function showStates({ states, prompt, warning: words }) {
  const host = document.getElementById("preview-states");
  host.replaceChildren(
    ...states.map((state) => {
      const length = state.optimal_length === null ? "no solution" : `solved in ${state.optimal_length}`;
      const caption = html("figcaption", "muted", { textContent: `seed ${state.seed} · ${length}` });
      return html("figure", "preview-state", {}, html("div", "board", {}, drawBoard(state.drawing)), caption);
    }),
  );
  warning.hidden = !words;
  warning.textContent = words;
  document.getElementById("preview-prompt-seed").textContent = String(states[0].seed);
  showMessages(document.getElementById("preview-prompt"), prompt);
}

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
  document.getElementById("preview-baselines").replaceChildren(list);
}

/** Marks the inputs that the server refused; their messages come with the next save, and stand above the states now. */
function markFields(errors) {
  for (const input of form.elements) {
    if (input.name && Object.hasOwn(errors, input.name)) input.setAttribute("aria-invalid", "true");
    else input.removeAttribute("aria-invalid");
  }
}

form.addEventListener("input", schedule);
form.addEventListener("change", schedule);
seedField.addEventListener("input", schedule);
document.getElementById("preview-more").addEventListener("click", () => {
  seedField.value = String(Number(seedField.value || 0) + STATES);
  refresh();
});
refresh();
