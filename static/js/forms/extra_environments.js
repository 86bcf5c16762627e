// Further environments of a run: one row each, added and removed; nothing is shown while there are none.

import { byId, control, find, findAll, targetWithin } from "../core/dom.js";

const form = byId("run-form", HTMLFormElement);
const rows = byId("more-environments");
const template = byId("more-environment", HTMLTemplateElement);
const MOST = 15; // as the server has it

function add() {
  rows.append(template.content.cloneNode(true));
  const select = find(rows, ":scope > :last-child select", HTMLSelectElement);
  const taken = [control(form, "environment", HTMLSelectElement).value, ...chosen().slice(0, -1)];
  const free = [...select.options].find((option) => !taken.includes(option.value));
  if (free) select.value = free.value;
  number();
  select.focus();
}

function chosen() {
  return findAll(rows, "select", HTMLSelectElement).map((select) => select.value);
}

function number() {
  findAll(rows, ":scope > *").forEach((row, index) => {
    find(row, "legend").textContent = `Environment ${index + 2}`;
    const error = find(row, ".field-error");
    error.dataset.error = `environments.${index + 1}`;
    error.textContent = "";
  });
  const some = rows.children.length > 0;
  for (const id of ["more-first", "more-help"]) byId(id).hidden = !some;
  if (button) button.disabled = rows.children.length >= MOST;
}

function changed() {
  form.dispatchEvent(new Event("input", { bubbles: true }));
}

const [button] = findAll(document, "#add-environment", HTMLButtonElement);
button?.addEventListener("click", () => {
  add();
  changed();
});
rows.addEventListener("click", (event) => {
  const remove = targetWithin(event, "[data-remove-environment]");
  if (!remove) return;
  remove.closest("fieldset")?.remove();
  number();
  button?.focus();
  changed();
});
