// What metrics mean: the engine's glossary, shown beside a metric's name on hover or focus.

import { element } from "./dom.js";

const entries = JSON.parse(document.getElementById("glossary")?.textContent ?? "{}");
const patterns = Object.values(entries)
  .filter((entry) => entry.name.includes("<"))
  .map((entry) => {
    const escaped = entry.name.split(/<(?:tag|case)>/).map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
    return [new RegExp(`^${escaped.join("(.+)")}$`, "s"), entry];
  });

export function describe(name) {
  if (entries[name]) return entries[name];
  for (const [pattern, entry] of patterns) {
    const found = pattern.exec(name);
    if (found) return { ...entry, name, title: entry.title.replace(/<(?:tag|case)>/, found[1]) };
  }
  return {
    name,
    title: name.split("/").at(-1).replaceAll("_", " "),
    meaning: "Reported by the engine.",
    section: name.split("/")[0],
  };
}

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

/** Gives the labels that a template wrote, `[data-metric]`, their cards. */
export function explainAll(root = document) {
  root.querySelectorAll("[data-metric]").forEach((made) => explained(made, describe(made.dataset.metric)));
}

function explained(made, metric) {
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
