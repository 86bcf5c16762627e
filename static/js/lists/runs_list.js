// The list of runs: updates over the socket refresh the rows; ticked runs stay ticked; configurations unfold in place.

import { byId, find, findAll, targetWithin } from "../core/dom.js";
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
    const ticked = new Set(boxes(body).flatMap((box) => (box.checked ? [box.value] : [])));
    const query = location.search;
    const answer = await fetch(address + query).catch(() => null);
    if (!answer?.ok) return false;
    const text = await answer.text();
    if (query !== location.search) return true; // another refresh is on its way
    const page = new DOMParser().parseFromString(`<table><tbody>${text}</tbody></table>`, "text/html");
    refreshTimes(page);
    refreshRows(body, findAll(page, "tbody > tr"), (row) => row.dataset.run);
    for (const box of boxes(body)) box.checked = ticked.has(box.value);
    showCount(body);
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
  const all = byId("pick-all", HTMLInputElement);
  all.addEventListener("change", () => {
    for (const box of boxes(body)) box.checked = all.checked;
    showCount(body);
  });
  body.addEventListener("change", (event) => {
    if (event.target instanceof HTMLInputElement && "members" in event.target.dataset) tickMembers(event.target);
    showCount(body);
  });
  body.addEventListener("click", (event) => {
    const link = targetWithin(event, "[data-fold]");
    if (!(link instanceof HTMLAnchorElement) || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    history.replaceState(history.state, "", link.href);
    byId("runs-form").querySelector("[name=back]")?.setAttribute("value", location.search.slice(1));
    refresh();
  });
  showCount(body); // a page that is opened again keeps its ticks
}

/** @param {HTMLElement} body */
const boxes = (body) => findAll(body, "input[name=run]", HTMLInputElement);

/** The runs below a configuration are as its own box.
 * @param {HTMLInputElement} box
 */
function tickMembers(box) {
  let row = box.closest("tr")?.nextElementSibling;
  for (; row instanceof HTMLElement && row.dataset.depth; row = row.nextElementSibling) {
    for (const one of findAll(row, "input[name=run]", HTMLInputElement)) one.checked = box.checked;
  }
}

/** @param {HTMLElement} body */
function showCount(body) {
  const all = boxes(body);
  const ticked = all.filter((box) => box.checked);
  const runs = ticked.flatMap((box) => box.value.split(",")).length; // of a folded configuration, a box has several
  byId("picked").textContent = runs ? `${runs} selected:` : "Select runs to";
  const head = byId("pick-all", HTMLInputElement);
  head.checked = ticked.length > 0 && ticked.length === all.length;
  head.indeterminate = ticked.length > 0 && ticked.length < all.length;
}

// Enter would press the first button of the form, whichever that is.
for (const input of findAll(document, "input[data-enter]", HTMLInputElement)) {
  input.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    find(document, `#runs-form button[value=${input.dataset.enter}]`).click();
  });
}
for (const select of findAll(document, "select[data-submits]", HTMLSelectElement)) {
  select.addEventListener("change", () => select.form?.requestSubmit());
}
const rows = document.getElementById("rows");
if (rows) follow(rows);
else document.getElementById("live")?.remove();
