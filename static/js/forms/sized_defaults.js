// Defaults for the size of the chosen model: filled in where the user has changed nothing, and shown.

import { byId, element } from "../core/dom.js";
import { inputOf, valueOf } from "./fields.js";

/**
 * @typedef {import("./fields.js").Field} Field
 * @typedef {object} Change a field that is not as models of this size usually have it
 * @property {string} field
 * @property {string} label
 * @property {string} value
 *
 * @typedef {object} Sized null where the preset is for models of the same size
 * @property {string} title
 * @property {string} source
 * @property {Change[]} changes
 */

/** @param {Field} input */
const textOf = (input) => String(valueOf(input));

/** @param {Field} input */
const presetOf = (input) => input.closest("[data-preset]")?.getAttribute("data-preset")?.trim() ?? "";

/**
 * @param {Field} input
 * @param {string} value
 */
function put(input, value) {
  if (input instanceof HTMLInputElement && input.type === "checkbox") input.checked = value === "true";
  else input.value = value;
}

/**
 * Those that may be filled in: they have the preset's value, or one that was filled in here.
 * @param {Change[]} changes
 * @param {(field: string) => {value: string, preset: string} | null} read
 * @param {Map<string, string>} filled values by field
 */
export function untouched(changes, read, filled) {
  return changes.filter(({ field }) => {
    const now = read(field);
    return now !== null && (now.value === now.preset || now.value === filled.get(field));
  });
}

/**
 * @param {HTMLFormElement} form
 * @param {() => void} changed called after fields were filled in
 */
export function sizedDefaults(form, changed) {
  const panel = byId("sized-defaults");
  /** @type {Map<string, string>} */
  const filled = new Map();
  /** @type {Map<string, string>} */
  const labels = new Map();
  let applied = ""; // the size that was filled in last, or that the user undid
  let first = true;

  /** @param {string} field */
  const read = (field) => {
    const input = inputOf(form, field);
    return input && { value: textOf(input), preset: presetOf(input) };
  };

  /** @param {Change[]} changes */
  function fill(changes) {
    for (const { field, label, value } of changes) {
      const input = inputOf(form, field);
      if (!input) continue;
      put(input, value);
      filled.set(field, value);
      labels.set(field, label);
    }
    if (changes.length) changed();
  }

  function undo() {
    for (const [field, value] of filled) {
      const input = inputOf(form, field);
      if (input && textOf(input) === value) put(input, presetOf(input));
    }
    filled.clear();
    changed();
  }

  /** @param {Sized | null} sized */
  return function show(sized) {
    if (!sized) {
      first = false;
      if (filled.size) undo();
      applied = "";
      panel.hidden = true;
      return;
    }
    // a cloned run has a model of its own, for which its values were chosen
    const asked = !first || panel.dataset.fill === "true";
    first = false;
    if (sized.title !== applied) {
      applied = sized.title;
      if (asked) fill(untouched(sized.changes, read, filled));
    }
    const own = [...filled].filter(([field, value]) => read(field)?.value === value);
    const others = sized.changes.filter(({ field, value }) => read(field)?.value !== value);
    panel.hidden = !own.length && !others.length;
    panel.replaceChildren(
      element(
        "div",
        { class: "banner" },
        element("p", {}, element("strong", {}, `Defaults for ${sized.title}`)),
        own.length
          ? element("p", {}, `Filled in: ${own.map(([field, value]) => text(field, value)).join(", ")}.`)
          : null,
        others.length ? element("p", {}, `Usual, and not set: ${others.map(usual).join(", ")}.`) : null,
        element("p", { class: "muted" }, sized.source),
        own.length ? action("Use the preset's values", undo) : null,
        others.length ? action("Use all of them", () => fill(sized.changes)) : null,
      ),
    );
  };

  /**
   * @param {string} field
   * @param {string} value
   */
  function text(field, value) {
    const input = inputOf(form, field);
    const preset = (input && (presetOf(input) || input.getAttribute("placeholder"))) || "none";
    return `${labels.get(field)} ${shown(value)} (preset: ${shown(preset)})`;
  }
}

/**
 * @param {string} words
 * @param {() => void} act
 */
function action(words, act) {
  const made = element("button", { class: "button button--small", type: "button" }, words);
  made.addEventListener("click", act);
  return made;
}

/** @param {Change} change */
const usual = ({ label, value }) => `${label} ${shown(value)}`;

/** @param {string} value */
const shown = (value) => ({ true: "on", false: "off" })[value] ?? value;
