// The form of a new run: checked by the server while it is filled in, sums and TOML beside it.

import { element } from "../core/dom.js";
import { fixText, markChanged, showErrors, watchVariants } from "./fields.js";

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
  const count = Object.keys(errors).length;
  const others = showErrors(form, errors);
  const notes = warnings.map((text) => element("p", { class: "banner banner--warn" }, text));
  if (count)
    notes.unshift(
      element(
        "p",
        { class: "banner banner--error", role: "alert" },
        fixText(count, others),
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

watchVariants(form);
form.addEventListener("input", () => {
  markChanged(form);
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

markChanged(form);
check();
