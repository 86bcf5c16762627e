// A page about one thing that changes: its parts are fetched again when the socket says that there is something new.

import { byId, findAll } from "./dom.js";
import { refreshTimes } from "./format.js";
import { LiveSocket } from "./live_socket.js";

const DELAY = 500; // milliseconds in which updates are merged into one refresh

const followed = byId("live-parts");
/** @type {ReturnType<typeof setTimeout> | null} */
let due = null;

async function refresh() {
  const answer = await fetch(followed.dataset.url ?? "").catch(() => null);
  if (!answer?.ok || answer.redirected) return false;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  refreshTimes(page);
  const former = new Map(findAll(document, "[data-part]").map((part) => [part.dataset.part, part]));
  for (const part of findAll(page, "[data-part]")) {
    const before = former.get(part.dataset.part);
    if (!before || before.isEqualNode(part) || before.contains(document.activeElement)) continue;
    if (before.dataset.key && before.dataset.key === part.dataset.key) continue; // buttons that may be pressed right now
    before.replaceWith(document.adoptNode(part));
  }
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
  path: followed.dataset.socket ?? "",
  after: () => 0,
  onMessage: refreshSoon,
  poll: refresh,
  onState: (state, detail) => {
    live.dataset.state = state;
    live.textContent = detail ?? (state === "live" ? "live" : state === "stale" ? "not connected" : "connecting");
  },
});
document.addEventListener("visibilitychange", () => document.hidden || refreshSoon()); // updates missed while hidden
