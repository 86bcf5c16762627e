// The form of a new run: checked by the server while it is filled in, sums and TOML beside it.

import { element } from "../core/dom.js";

const form = document.getElementById("run-form");
let timer = 0;
let asked = 0;

async function check() {
  const mine = ++asked;
  const answer = await fetch(form.dataset.check, {
    method: "POST",
    body: new FormData(form),
    headers: { Accept: "application/json" },
  }).catch(() => null);
  if (!answer?.ok || mine !== asked) return;
  show(await answer.json());
}

function show({ errors, warnings, memory, summary, toml, command }) {
  form.querySelectorAll("[data-error]").forEach((place) => {
    const text = errors[place.dataset.error] ?? "";
    place.textContent = text;
    const input = form.elements[place.dataset.error];
    if (input instanceof HTMLElement) input.toggleAttribute("aria-invalid", Boolean(text));
    if (text) input?.setAttribute?.("aria-invalid", "true");
  });
  const count = Object.keys(errors).length;
  const known = new Set([...form.querySelectorAll("[data-error]")].map((place) => place.dataset.error));
  const rest = Object.entries(errors)
    .filter(([name]) => !known.has(name))
    .map(([name, why]) => `${name}: ${why}`);
  const notes = warnings.map((text) => element("p", { class: "banner banner--warn" }, text));
  if (count)
    notes.unshift(
      element(
        "p",
        { class: "banner banner--error", role: "alert" },
        `It cannot start yet: ${count} field${count === 1 ? "" : "s"} to mend. ${rest.join(" ")}`,
      ),
    );
  document.getElementById("warnings").replaceChildren(...notes);
  if (summary)
    document
      .getElementById("summary")
      .replaceChildren(...summary.flatMap(([word, value]) => [element("dt", {}, word), element("dd", {}, value)]));
  if (memory.length)
    document.getElementById("memory-words").replaceChildren(...memory.map((words) => element("p", {}, words)));
  if (toml) document.getElementById("toml").textContent = toml;
  if (command) document.getElementById("command").textContent = command;
}

// what concerns a cluster is folded away where there is none
function unfold() {
  const there = form.elements.backend.value === "ray";
  document.getElementById("cluster-section").open = there;
  document.getElementById("memory").hidden = !there;
}

function mark(field) {
  const input = field.querySelector("input, select");
  const value = input.type === "checkbox" ? String(input.checked) : input.value.trim();
  field.classList.toggle("field--changed", value !== field.dataset.preset);
}

form.addEventListener("input", (event) => {
  const field = event.target.closest("[data-preset]");
  if (field) mark(field);
  clearTimeout(timer);
  timer = setTimeout(check, 250);
});
form.elements.backend.addEventListener("change", unfold);
// another preset keeps the name and the environments that were chosen
form.querySelectorAll("[data-preset-card]").forEach((card) =>
  card.addEventListener("click", () => {
    const target = new URL(card.href);
    for (const name of ["name", "environment", "environment-groups"])
      if (form.elements[name].value) target.searchParams.set(name, form.elements[name].value);
    for (const [name, value] of new FormData(form))
      if (name.startsWith("more-")) target.searchParams.append(name, value);
    card.href = target;
  }),
);

form.querySelectorAll("[data-preset]").forEach(mark);
check();
