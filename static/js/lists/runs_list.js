// The list of runs moves by itself: news over the socket refreshes the rows, ticks stay ticked.

import { refreshTimes } from "../core/format.js";
import { LiveSocket } from "../core/live_socket.js";
import { refill } from "./refresh_rows.js";

const body = document.getElementById("rows");
const table = document.querySelector(".runs-table");
let due = null;

async function refresh() {
  const ticked = new Set([...body.querySelectorAll("input:checked")].map((box) => box.value));
  const answer = await fetch(table.dataset.rows + location.search).catch(() => null);
  if (!answer?.ok) return false;
  const page = new DOMParser().parseFromString(`<table><tbody>${await answer.text()}</tbody></table>`, "text/html");
  refreshTimes(page);
  refill(body, [...page.querySelectorAll("tbody > tr")], (row) => row.dataset.run);
  body.querySelectorAll("input[name=run]").forEach((box) => {
    box.checked = ticked.has(box.value);
  });
  return true;
}

function later() {
  due ??= setTimeout(() => {
    due = null;
    if (!document.hidden) refresh();
  }, 400);
}

function count() {
  const ticked = body.querySelectorAll("input:checked").length;
  document.getElementById("picked").textContent = ticked ? `${ticked} picked:` : "Tick runs to";
}

if (body) {
  body.addEventListener("change", count);
  const live = document.getElementById("live");
  new LiveSocket({
    path: "/ws/runs/",
    after: () => 0,
    onMessage: (message) => {
      if (message.kind !== "hello") later();
    },
    poll: refresh,
    onState: (word, detail) => {
      live.dataset.state = word;
      live.textContent = detail ?? (word === "live" ? "live" : word === "stale" ? "not connected" : "connecting");
    },
  });
} else {
  document.getElementById("live")?.remove();
}
