// The form of a new run: checked by the server while it is filled in, with totals and TOML.

import { byId, control, element, findAll } from "../core/dom.js";
import { showText } from "../core/visible_text.js";
import { errorLinks, fixText, markChanged, showErrors, watchVariants } from "./fields.js";
import { sizedDefaults } from "./sized_defaults.js";

/**
 * @typedef {object} Check the server's answer about the form
 * @property {Record<string, string>} errors
 * @property {string[]} warnings
 * @property {string[]} memory
 * @property {[word: string, value: string][]} [summary]
 * @property {string} [toml]
 * @property {string} [command]
 * @property {import("./sized_defaults.js").Sized | null} [sized] absent while a field is invalid
 */

const form = byId("run-form", HTMLFormElement);
const backend = control(form, "backend", HTMLSelectElement);
/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;
let requests = 0;

async function check() {
  const mine = ++requests;
  const answer = await fetch(form.dataset.check ?? "", {
    method: "POST",
    body: new FormData(form),
    headers: { Accept: "application/json" },
  }).catch(() => null);
  if (!answer?.ok || mine !== requests) return;
  show(await answer.json());
}

/** @param {Check} check */
function show({ errors, warnings, memory, summary, toml, command, sized }) {
  const count = Object.keys(errors).length;
  const others = showErrors(form, errors);
  const notes = warnings.map((text) => element("p", { class: "banner banner--warn" }, text));
  if (count) {
    const links = errorLinks(form, errors).map((link) => element("li", {}, link));
    const head = element("p", {}, fixText(count, others));
    notes.unshift(element("div", { class: "banner banner--error", role: "alert" }, head, element("ul", {}, ...links)));
  }
  byId("warnings").replaceChildren(...notes);
  if (summary) {
    const rows = summary.flatMap(([word, value]) => [element("dt", {}, word), element("dd", {}, value)]);
    byId("summary").replaceChildren(...rows);
  }
  if (memory.length) byId("memory-note").replaceChildren(...memory.map((words) => element("p", {}, words)));
  if (toml) showText(byId("toml"), toml);
  if (command) showText(byId("command"), command);
  if (sized !== undefined) showSized(sized);
}

function edited() {
  markChanged(form);
  clearTimeout(timer);
  timer = setTimeout(check, 250);
}

// The settings of a cluster are open for a backend that uses one.
function showCluster() {
  byId("cluster-section", HTMLDetailsElement).open = backend.value === "ray";
}

// The settings of another type are those that were asked for.
/** @param {Event} event */
function openChosen({ target }) {
  if (!(target instanceof HTMLSelectElement) || !target.dataset.variants) return;
  const fields = form.querySelector(`fieldset:enabled[data-variant-of="${target.dataset.variants}"]`);
  const section = fields?.closest("details");
  if (section) section.open = true;
}

const showSized = sizedDefaults(form, edited);
watchVariants(form);
form.addEventListener("change", openChosen);
form.addEventListener("input", edited);
backend.addEventListener("change", showCluster);
const KEPT = ["name", "project", "tags", "priority"];

// another preset keeps these, and the environments that were selected unless it has one of its own
for (const card of findAll(form, "a[data-preset-card]", HTMLAnchorElement)) {
  card.addEventListener("click", () => {
    const target = new URL(card.href);
    const values = new FormData(form);
    const own = card.dataset["presetCard"] === "own-environment";
    for (const name of own ? KEPT : [...KEPT, "environment", "environment-groups"]) {
      if (values.get(name)) target.searchParams.set(name, String(values.get(name)));
    }
    for (const [name, value] of values) {
      if (!own && name.startsWith("more-")) target.searchParams.append(name, String(value));
    }
    card.href = target.href;
  });
}

markChanged(form);
check();
// a refused launch: the reason is read out first
document.querySelector("#warnings .banner--error")?.scrollIntoView({ block: "center" });
/** @type {HTMLElement | null} */ (document.querySelector("#warnings .banner--error"))?.focus();
