// The form of a new run: checked by the server while it is filled in, with totals and TOML beside it.

import { byId, control, element, find, findAll, targetWithin } from "../core/dom.js";

/**
 * @typedef {object} Check the server's answer about the form
 * @property {Record<string, string>} errors
 * @property {string[]} warnings
 * @property {string[]} memory
 * @property {[word: string, value: string][]} [summary]
 * @property {string} [toml]
 * @property {string} [command]
 */

const form = byId("run-form", HTMLFormElement);
const backend = control(form, "backend", HTMLSelectElement);
/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;
let asked = 0;

async function check() {
  const mine = ++asked;
  const answer = await fetch(form.dataset.check ?? "", {
    method: "POST",
    body: new FormData(form),
    headers: { Accept: "application/json" },
  }).catch(() => null);
  if (!answer?.ok || mine !== asked) return;
  show(await answer.json());
}

/** @param {Check} check */
function show({ errors, warnings, memory, summary, toml, command }) {
  const slots = findAll(form, "[data-error]");
  for (const slot of slots) {
    const name = slot.dataset.error ?? "";
    slot.textContent = errors[name] ?? "";
    const input = form.elements.namedItem(name);
    if (!(input instanceof Element)) continue;
    if (errors[name]) input.setAttribute("aria-invalid", "true");
    else input.removeAttribute("aria-invalid");
  }
  const count = Object.keys(errors).length;
  const known = new Set(slots.map((slot) => slot.dataset.error));
  const rest = Object.entries(errors)
    .filter(([name]) => !known.has(name))
    .map(([name, why]) => `${name}: ${why}`);
  const notes = warnings.map((text) => element("p", { class: "banner banner--warn" }, text));
  if (count) {
    const words = `Fix ${count} ${count === 1 ? "field" : "fields"} to launch. ${rest.join(" ")}`;
    notes.unshift(element("p", { class: "banner banner--error", role: "alert" }, words));
  }
  byId("warnings").replaceChildren(...notes);
  if (summary) {
    const rows = summary.flatMap(([word, value]) => [element("dt", {}, word), element("dd", {}, value)]);
    byId("summary").replaceChildren(...rows);
  }
  if (memory.length) byId("memory-words").replaceChildren(...memory.map((words) => element("p", {}, words)));
  if (toml) byId("toml").textContent = toml;
  if (command) byId("command").textContent = command;
}

// The settings of a cluster are open for a backend that uses one.
function showCluster() {
  const used = backend.value === "ray";
  byId("cluster-section", HTMLDetailsElement).open = used;
  byId("memory").hidden = !used;
}

/** @param {HTMLElement} field */
function mark(field) {
  const input = find(field, "input, select", /** @type {new () => HTMLInputElement} */ (HTMLElement));
  const value = input.type === "checkbox" ? String(input.checked) : input.value.trim();
  field.classList.toggle("field--changed", value !== field.dataset.preset);
}

form.addEventListener("input", (event) => {
  const field = targetWithin(event, "[data-preset]");
  if (field) mark(field);
  clearTimeout(timer);
  timer = setTimeout(check, 250);
});
backend.addEventListener("change", showCluster);
// another preset keeps the name and the environments that were selected
for (const card of findAll(form, "a[data-preset-card]", HTMLAnchorElement)) {
  card.addEventListener("click", () => {
    const target = new URL(card.href);
    const values = new FormData(form);
    for (const name of ["name", "environment", "environment-groups"]) {
      if (values.get(name)) target.searchParams.set(name, String(values.get(name)));
    }
    for (const [name, value] of values) {
      if (name.startsWith("more-")) target.searchParams.append(name, String(value));
    }
    card.href = target.href;
  });
}

findAll(form, "[data-preset]").forEach(mark);
check();
