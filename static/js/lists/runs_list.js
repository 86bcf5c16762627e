// The list of runs: updates over the socket refresh the rows; ticked runs stay ticked.

import { byId, find, findAll } from "../core/dom.js";
import { refreshTimes } from "../core/format.js";
import { LiveSocket } from "../core/live_socket.js";
import { refreshRows } from "./refresh_rows.js";

const DELAY = 400; // milliseconds in which updates are merged into one refresh

/** @param {HTMLElement} body */
function follow(body) {
  const address = find(document, ".runs-table").dataset.rows ?? "";
  /** @type {ReturnType<typeof setTimeout> | null} */
  let due = null;

  async function refresh() {
    const ticked = new Set(findAll(body, "input:checked", HTMLInputElement).map((box) => box.value));
    const answer = await fetch(address + location.search).catch(() => null);
    if (!answer?.ok) return false;
    const page = new DOMParser().parseFromString(`<table><tbody>${await answer.text()}</tbody></table>`, "text/html");
    refreshTimes(page);
    refreshRows(body, findAll(page, "tbody > tr"), (row) => row.dataset.run);
    for (const box of findAll(body, "input[name=run]", HTMLInputElement)) box.checked = ticked.has(box.value);
    return true;
  }

  function refreshSoon() {
    due ??= setTimeout(() => {
      due = null;
      if (!document.hidden) refresh();
    }, DELAY);
  }

  const live = byId("live");
  new LiveSocket({
    path: "/ws/runs/",
    after: () => 0,
    onMessage: (message) => {
      if (message.kind !== "hello") refreshSoon();
    },
    poll: refresh,
    onState: (state, detail) => {
      live.dataset.state = state;
      live.textContent = detail ?? (state === "live" ? "live" : state === "stale" ? "not connected" : "connecting");
    },
  });
  document.addEventListener("visibilitychange", () => document.hidden || refreshSoon()); // updates missed while hidden
  body.addEventListener("change", () => showCount(body));
}

/** @param {HTMLElement} body */
function showCount(body) {
  const ticked = body.querySelectorAll("input:checked").length;
  byId("picked").textContent = ticked ? `${ticked} picked:` : "Tick runs to";
}

const rows = document.getElementById("rows");
if (rows) follow(rows);
else document.getElementById("live")?.remove();
