// The inputs that the server makes of a pydantic class (templates/forms): choices of a type with the fields of each,
// errors at their field, marks of what was changed. Runs, live settings and environments use these.

import { element } from "../core/dom.js";
import { visible } from "../core/visible_text.js";

/** @typedef {HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement} Field */

/**
 * The inputs that are sent: those of variants that are not chosen are disabled.
 * @param {HTMLFormElement} form
 * @returns {Field[]}
 */
export function sentInputs(form) {
  return allInputs(form).filter((input) => !input.matches(":disabled"));
}

/**
 * @param {HTMLFormElement} form
 * @returns {Field[]}
 */
export function allInputs(form) {
  const named = /** @type {Field[]} */ ([...form.elements].filter((one) => "name" in one && one.name));
  return named.filter((input) => input.type !== "hidden");
}

/**
 * The input of that name that is sent: variants may have fields of the same name.
 * @param {HTMLFormElement} form
 * @param {string} name
 */
export const inputOf = (form, name) => sentInputs(form).find((input) => input.name === name) ?? null;

/**
 * @param {Field} input
 * @returns {string | boolean}
 */
export const valueOf = (input) =>
  input instanceof HTMLInputElement && input.type === "checkbox" ? input.checked : input.value.trim();

/**
 * Another type shows its own fields, from now on.
 * @param {HTMLFormElement} form
 */
export function watchVariants(form) {
  form.addEventListener("input", ({ target }) => {
    if (target instanceof HTMLSelectElement && target.dataset.variants) showVariant(target);
  });
}

/**
 * Shows the fields of the type that is chosen; those of the others are hidden and not sent.
 * @param {HTMLSelectElement} select
 */
export function showVariant(select) {
  for (const field of /** @type {HTMLFormElement} */ (select.form).querySelectorAll("fieldset")) {
    if (field.dataset.variantOf !== select.dataset.variants) continue;
    const chosen = field.dataset.variant === select.value;
    field.hidden = !chosen;
    field.disabled = !chosen;
  }
}

/**
 * Puts each error at its field, unfolding what it is in; returns those that no field of the form has.
 * @param {HTMLFormElement} form
 * @param {Record<string, string | string[]>} errors by name
 * @returns {[string, string][]}
 */
export function showErrors(form, errors) {
  const texts = new Map(Object.entries(errors).map(([name, why]) => [name, Array.isArray(why) ? why.join(" ") : why]));
  const known = new Set();
  for (const output of /** @type {NodeListOf<HTMLElement>} */ (form.querySelectorAll("[data-error]"))) {
    const name = output.dataset.error ?? "";
    const sent = !output.closest("fieldset:disabled");
    output.textContent = visible((sent && texts.get(name)) || "");
    if (output.textContent) output.closest("details")?.setAttribute("open", "");
    if (sent) known.add(name);
  }
  for (const input of sentInputs(form)) {
    if (texts.get(input.name)) input.setAttribute("aria-invalid", "true");
    else input.removeAttribute("aria-invalid");
  }
  return [...texts].filter(([name]) => !known.has(name));
}

/**
 * Marks the fields whose value is not the one they are compared with (`data-preset`).
 * @param {HTMLFormElement} form
 */
export function markChanged(form) {
  for (const field of /** @type {NodeListOf<HTMLElement>} */ (form.querySelectorAll("[data-preset]"))) {
    const input = /** @type {Field | null} */ (field.querySelector("input, select, textarea"));
    if (input) field.classList.toggle("field--changed", String(valueOf(input)) !== field.dataset.preset?.trim());
  }
}

/**
 * `Fix 2 fields.`, and what is wrong beyond the fields of the form.
 * @param {number} count of errors; those of `others` without a name belong to no field
 * @param {[string, string][]} others
 */
export function fixText(count, others) {
  const rest = others.map(([name, why]) => (name ? `${name}: ${why}` : why));
  const fields = count - others.filter(([name]) => !name).length;
  return [...(fields ? [`Fix ${fields} field${fields === 1 ? "" : "s"}.`] : []), ...rest].join(" ");
}

/**
 * A link to each field with an error, which opens the section it is in and focuses it.
 * @param {HTMLFormElement} form
 * @param {Record<string, string | string[]>} errors by name
 */
export function errorLinks(form, errors) {
  const fields = Object.keys(errors).flatMap((name) => inputOf(form, name) ?? []);
  return fields.map((input) => {
    const label = input.labels?.[0]?.textContent?.trim() || input.name;
    const link = element("a", { href: `#${input.id}` }, label);
    link.addEventListener("click", (event) => {
      event.preventDefault();
      const closed = input.closest("details:not([open])");
      if (closed instanceof HTMLDetailsElement) closed.open = true;
      input.focus();
      input.scrollIntoView({ block: "center" });
    });
    return link;
  });
}
