// Further environments of a run: a row each, added and removed; without any, nothing of this is seen.

const form = document.getElementById("run-form");
const rows = document.getElementById("more-environments");
const template = document.getElementById("more-environment");
const MOST = 15; // as the server has it

function add() {
  rows.append(template.content.cloneNode(true));
  const row = rows.lastElementChild;
  const taken = [form.elements.environment.value, ...chosen().slice(0, -1)];
  const select = row.querySelector("select");
  const free = [...select.options].find((option) => !taken.includes(option.value));
  if (free) select.value = free.value;
  number();
  select.focus();
}

function chosen() {
  return [...rows.querySelectorAll("select")].map((select) => select.value);
}

function number() {
  [...rows.children].forEach((row, index) => {
    row.querySelector("legend").textContent = `Environment ${index + 2}`;
    const error = row.querySelector(".field-error");
    error.dataset.error = `environments.${index + 1}`;
    error.textContent = "";
  });
  const some = rows.children.length > 0;
  for (const id of ["more-first", "more-help"]) document.getElementById(id).hidden = !some;
  button.disabled = rows.children.length >= MOST;
}

function changed() {
  form.dispatchEvent(new Event("input", { bubbles: true }));
}

const button = document.getElementById("add-environment");
button?.addEventListener("click", () => {
  add();
  changed();
});
rows.addEventListener("click", (event) => {
  const remove = event.target.closest("[data-remove-environment]");
  if (!remove) return;
  remove.closest("fieldset").remove();
  number();
  button.focus();
  changed();
});
