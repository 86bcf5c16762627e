// The form of a new sweep: rows of axes, and what would run, checked by the server while it is filled in.

import { byId, control, find, findAll, targetWithin } from "../core/dom.js";

const DELAY = 350; // milliseconds after the last key

const form = byId("sweep-form", HTMLFormElement);
const axes = byId("sweep-axes");
const method = control(form, "method", HTMLSelectElement);
/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;
let requests = 0;

async function check() {
  const mine = ++requests;
  const answer = await fetch(form.dataset.check ?? "", { method: "POST", body: new FormData(form) }).catch(() => null);
  if (!answer?.ok || answer.redirected || mine !== requests) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const preview = find(page, "#sweep-preview");
  byId("sweep-preview").replaceWith(document.adoptNode(preview));
  byId("sweep-sum").textContent = preview.dataset.sum ?? "";
  byId("sweep-confirm").hidden = !preview.dataset.confirm;
}

function checkSoon() {
  clearTimeout(timer);
  timer = setTimeout(check, DELAY);
}

/**
 * The inputs of an axis that its type reads, and what the field means.
 * @param {HTMLElement} row
 */
function showAxis(row) {
  row.dataset.type = find(row, "[name=axis-type]", HTMLSelectElement).value;
  const name = find(row, "[name=axis-field]", HTMLInputElement).value;
  const known = findAll(document, "#swept-fields option", HTMLOptionElement).find((one) => one.value === name);
  find(row, "[data-field-help]").textContent = known?.textContent ?? "";
}

function showMethod() {
  form.dataset.method = method.value;
}

function addAxis() {
  const content = byId("sweep-axis", HTMLTemplateElement).content;
  axes.append(document.importNode(content, true));
  const row = axes.lastElementChild;
  if (!(row instanceof HTMLElement)) return;
  showAxis(row);
  find(row, "[name=axis-field]").focus();
}

/** The row that is there for browsers without scripts. */
function dropEmptyAxis() {
  const last = axes.lastElementChild;
  if (axes.childElementCount < 2 || !last) return;
  if (!find(last, "[name=axis-field]", HTMLInputElement).value) last.remove();
}

form.addEventListener("input", (event) => {
  const row = targetWithin(event, ".sweep-axis");
  if (row) showAxis(row);
  showMethod();
  checkSoon();
});
axes.addEventListener("click", (event) => {
  if (!targetWithin(event, "[data-remove-axis]")) return;
  targetWithin(event, ".sweep-axis")?.remove();
  byId("add-axis").focus();
  checkSoon();
});
byId("add-axis").addEventListener("click", addAxis);
findAll(axes, ".sweep-axis").forEach(showAxis);
dropEmptyAxis();
showMethod();
form.querySelector(".field-error[role=alert]")?.scrollIntoView({ block: "center" });
