// The page of the queue: its parts are refreshed as runs change, and rows are moved by dragging or by keys.

import { byId, find, findAll, targetWithin } from "../core/dom.js";
import { refreshTimes } from "../core/format.js";
import { LiveSocket } from "../core/live_socket.js";
import { getPage, postFields } from "../core/requests.js";
import { toast } from "../core/toast.js";
import { dropPosition, keyPosition } from "./moves.js";

const DELAY = 800; // milliseconds in which updates are merged into one refresh
const EVALUATIONS = 5000; // milliseconds between refreshes while evaluations are listed: their updates have other sockets

const queue = byId("queue");
/** @type {ReturnType<typeof setTimeout> | null} */
let due = null;
let dragging = false;

const rowsNow = () => findAll(queue, "#queue-rows > tr");

async function refresh() {
  if (dragging) return false;
  const parts = await getPage(queue.dataset.url ?? "");
  if (!parts || dragging) return false;
  const focused = document.activeElement?.closest("[data-run]");
  const run = focused instanceof HTMLElement ? focused.dataset.run : null;
  queue.replaceChildren(...parts);
  refreshTimes(queue);
  showHandles();
  if (run) focusHandle(run);
  return true;
}

function refreshSoon() {
  due ??= setTimeout(() => {
    due = null;
    if (!document.hidden) refresh();
  }, DELAY);
}

function showHandles() {
  for (const handle of findAll(queue, "[data-handle]")) handle.hidden = false;
}

/** @param {string} run */
function focusHandle(run) {
  const row = rowsNow().find((one) => one.dataset.run === run);
  if (row) find(row, "[data-handle]").focus({ preventScroll: true });
}

/**
 * Asks for the position; the server says where the row is now.
 * @param {HTMLElement} row
 * @param {number} position
 */
async function move(row, position) {
  const fields = { action: "queue_to", position: String(position) };
  const answer = await postFields(row.dataset.control ?? "", fields, "The server did not answer. Nothing was moved.");
  if (answer.error) toast(answer.error);
  else byId("queue-said").textContent = `${row.dataset.name} is now number ${position} of ${rowsNow().length}.`;
  await refresh();
  focusHandle(row.dataset.run ?? "");
}

queue.addEventListener("keydown", (event) => {
  const row = targetWithin(event, "[data-handle]")?.closest("tr");
  if (!row) return;
  const rows = rowsNow();
  const before = rows.indexOf(row) + 1;
  const after = keyPosition(event.key, before, rows.length);
  if (after === null) return;
  event.preventDefault();
  if (after !== before) move(row, after);
});

queue.addEventListener("pointerdown", (event) => {
  const handle = targetWithin(event, "[data-handle]");
  const row = handle?.closest("tr");
  if (!handle || !row || event.button !== 0) return;
  const from = rowsNow().indexOf(row);
  dragging = true;
  handle.setPointerCapture(event.pointerId);
  row.classList.add("is-dragged");

  /** @param {PointerEvent} moved */
  const drag = (moved) => {
    const rows = rowsNow();
    const at = rows.indexOf(row);
    const extents = rows.map((one) => one.getBoundingClientRect());
    const target = dropPosition(extents, at, moved.clientY) - 1;
    if (target === at) return;
    // the others move around the dragged row: one that leaves the page for a moment would lose the pointer
    if (target > at) row.before(...rows.slice(at + 1, target + 1));
    else row.after(...rows.slice(target, at));
  };
  /** @param {PointerEvent} ended */
  const drop = (ended) => {
    handle.removeEventListener("pointermove", drag);
    handle.removeEventListener("pointerup", drop);
    handle.removeEventListener("pointercancel", drop);
    row.classList.remove("is-dragged");
    dragging = false;
    const to = rowsNow().indexOf(row);
    if (ended.type === "pointerup" && to !== from) move(row, to + 1);
    else refresh();
  };
  handle.addEventListener("pointermove", drag);
  handle.addEventListener("pointerup", drop);
  handle.addEventListener("pointercancel", drop);
});

const live = byId("live");
new LiveSocket({
  path: "/ws/runs/",
  after: () => 0,
  onMessage: refreshSoon, // also for its hello: runs may have changed since the page was made
  poll: refresh,
  onState: (state, detail) => {
    live.dataset.state = state;
    live.textContent = detail ?? (state === "live" ? "live" : state === "stale" ? "not connected" : "connecting");
  },
});
setInterval(() => {
  if (queue.querySelector("[data-part=evaluations]")) refreshSoon();
}, EVALUATIONS);
document.addEventListener("visibilitychange", () => document.hidden || refreshSoon()); // updates missed while hidden
showHandles();
