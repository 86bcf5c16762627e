// The editor of a report, with a preview that the server renders.

import { byId, find } from "../core/dom.js";

const DELAY = 500; // ms after the last key

const form = byId("report-form", HTMLFormElement);
const text = find(form, "[name=text]", HTMLTextAreaElement);
const status = byId("preview-status");
/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;
let requests = 0;
let shown = "";
let saved = false;

async function preview() {
  const mine = ++requests;
  const data = new FormData();
  data.set("text", text.value);
  data.set("csrfmiddlewaretoken", find(form, "[name=csrfmiddlewaretoken]", HTMLInputElement).value);
  const answer = await fetch(form.dataset.preview ?? "", { method: "POST", body: data }).catch(() => null);
  if (mine !== requests) return;
  if (!answer?.ok || answer.redirected) {
    status.textContent = "The preview could not be loaded. Your text is still here; try again.";
    return;
  }
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  status.textContent = text.value.trim() ? "" : "Nothing to show yet.";
  byId("report-body").replaceChildren(...[...(page.getElementById("report-body")?.childNodes ?? [])]);
}

text.addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(preview, DELAY);
});
form.addEventListener("submit", () => {
  saved = true;
});
addEventListener("beforeunload", (event) => {
  if (!saved && text.value !== shown) event.preventDefault();
});
shown = text.defaultValue;
preview();
