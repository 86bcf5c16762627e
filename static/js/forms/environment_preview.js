// The environment that is chosen, seen before launch: a first state, and how players without a model do.

import { drawBoard } from "../environments/board.js";
import { element, svg } from "../core/dom.js";
import { post } from "../core/requests.js";

const SEED = "500000";
const place = document.getElementById("first-state");
const choice = document.getElementById("run-environment");
let calls = new AbortController();

async function refresh() {
  calls.abort();
  calls = new AbortController();
  const { signal } = calls;
  const first = await ask("states", signal);
  if (first === null) return;
  place.hidden = !first.ok;
  if (!first.ok) return;
  document.getElementById("first-board").replaceChildren(drawBoard(first.states[0].drawing));
  const players = await ask("baselines", signal);
  if (players?.ok) document.getElementById("first-baselines").replaceChildren(bars(players.baselines));
}

function ask(part, signal) {
  const data = new FormData();
  data.set("csrfmiddlewaretoken", choice.form.elements.csrfmiddlewaretoken.value);
  data.set("version", choice.value);
  data.set("part", part);
  data.set("seed", SEED);
  return post(place.dataset.preview, data, signal);
}

function bars(baselines) {
  const rows = baselines.flatMap(({ player, success, episodes }) => [
    element("dt", {}, player),
    element(
      "dd",
      { title: `${episodes} episodes` },
      svg(
        "svg",
        { class: "baseline-bar", viewBox: "0 0 100 8", preserveAspectRatio: "none", "aria-hidden": "true" },
        svg("rect", { width: 100 * success, height: 8 }),
      ),
      element("span", { class: "num" }, `${Math.round(100 * success)}%`),
    ),
  ]);
  return element("dl", { class: "baselines" }, ...rows);
}

choice.addEventListener("change", refresh);
if (choice.value) refresh();
