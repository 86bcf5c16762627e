// What metrics mean: the engine's glossary, shown at a metric's name on hover or focus.

import { element, findAll } from "./dom.js";
import { visible } from "./visible_text.js";

/** @import { Metric } from "../types.js" */

const PLACEHOLDER = /(<(?:tag|case|name)>)/;
const SPECIAL = /[.*+?^${}()|[\]\\]/g;
// a tag may hold anything, slashes too; a name is an identifier of an environment's author
/** @type {Record<string, string>} */
const MATCHES = { "<tag>": "(?<tag>.+)", "<case>": "(?<case>.+)", "<name>": "(?<name>[^/]+)" };

/** @type {Record<string, Metric> | undefined} */
let entries;
/** @type {[pattern: RegExp, entry: Metric][]} */
let patterns = [];

/** The glossary that the page came with, read when it is first needed. */
function glossary() {
  if (entries) return entries;
  /** @type {Record<string, Metric>} */
  const read = JSON.parse(document.getElementById("glossary")?.textContent ?? "{}");
  patterns = patternsOf(read);
  entries = read;
  return read;
}

/**
 * The entries whose names have a tag, `env/<tag>/success`, by what they match.
 * @param {Record<string, Metric>} all
 * @returns {[pattern: RegExp, entry: Metric][]}
 */
function patternsOf(all) {
  const tagged = Object.values(all).filter((entry) => entry.name.includes("<"));
  return tagged.map((entry) => {
    const parts = entry.name.split(PLACEHOLDER).map((part) => MATCHES[part] ?? part.replace(SPECIAL, "\\$&"));
    return [new RegExp(`^${parts.join("")}$`, "s"), entry];
  });
}

/**
 * The entry of a metric; one that the glossary lacks is described by its name.
 * @param {string} name
 * @returns {Metric}
 */
export function describe(name) {
  const entry = glossary()[name];
  if (entry) return entry;
  for (const [pattern, tagged] of patterns) {
    const found = pattern.exec(name);
    if (found) {
      const { tag = "", case: kind = "", name: own = "" } = found.groups ?? {};
      const words = { "<tag>": tag, "<case>": kind, "<name>": own.replaceAll("_", " ") };
      const title = tagged.title.replace(/<(?:tag|case|name)>/g, (part) => words[/** @type {"<tag>"} */ (part)]);
      return { ...tagged, name, title: visible(title) };
    }
  }
  const parts = name.split("/");
  return {
    name,
    title: visible(parts[parts.length - 1].replaceAll("_", " ")),
    meaning: "Reported by the engine.",
    section: parts[0],
  };
}

/** @param {string} name */
export function label(name) {
  const metric = describe(name);
  return explained(
    element(
      "span",
      { class: "hint", tabindex: "0", role: "button", "aria-label": `${metric.title}: what it means` },
      metric.title,
    ),
    metric,
  );
}

/**
 * Adds the explanation to the labels that a template wrote, `[data-metric]`.
 * @param {ParentNode} [root]
 */
export function explainAll(root = document) {
  for (const labelled of findAll(root, "[data-metric]")) explained(labelled, describe(labelled.dataset.metric ?? ""));
}

/**
 * @template {HTMLElement} T
 * @param {T} made
 * @param {Metric} metric
 */
function explained(made, metric) {
  /** @type {HTMLElement | null} */
  let card = null;
  const show = () => {
    card ??= made.appendChild(explain(metric));
  };
  const hide = () => {
    card?.remove();
    card = null;
  };
  made.addEventListener("mouseenter", show);
  made.addEventListener("mouseleave", hide);
  made.addEventListener("focus", show);
  made.addEventListener("blur", hide);
  made.addEventListener("keydown", (event) => {
    if (event.key === "Escape") hide();
  });
  return made;
}

/** @param {Metric} metric */
function explain(metric) {
  const list = element("dl", { class: "hint-card", role: "tooltip" }, element("dd", {}, metric.meaning));
  const rows = [
    ["Formula", metric.formula],
    ["Unit", metric.unit],
    ["What bad looks like", metric.bad],
    ["Name", metric.name],
  ];
  for (const [word, text] of rows) if (text) list.append(element("dt", {}, word), element("dd", {}, text));
  return list;
}
