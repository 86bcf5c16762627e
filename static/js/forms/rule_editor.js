// A list of alert rules as forms: what a rule reads, how far is too far, what follows. The server judges them.

import { element, icon } from "../core/dom.js";

const FIRST = ["name", "kind", "metric", "limit", "steps", "severity", "action", "cooldown"];
const PREFIX = "detectors.rules";

export class RuleEditor {
  // `onChange` is called whenever a rule changed.
  constructor(root, onChange) {
    const { fields, kinds, presets, metrics } = JSON.parse(document.getElementById("rule-editor-data").textContent);
    this.fields = [...fields].sort((one, other) => rank(one.name) - rank(other.name));
    this.kinds = kinds;
    this.presets = presets;
    this.onChange = onChange;
    this.list = root.querySelector("#rule-list");
    this.rules = this.full(JSON.parse(document.getElementById("rules-now").textContent));
    root.querySelector("#rule-metrics").append(...metrics.map((name) => element("option", { value: name })));
    this.prepare(root);
    this.draw();
  }

  /** The rules as the engine reads them; a field that the kind does not use is left at its default. */
  value() {
    return this.rules.map((rule) =>
      Object.fromEntries(this.used(rule).map((field) => [field.name, sent(field, rule[field.name])])),
    );
  }

  /** Any set of rules as texts by field, to be compared. */
  asTexts(rules) {
    const texts = (rule) => this.used(rule).map((field) => [field.name, String(rule[field.name])]);
    return this.full(rules).map((rule) => Object.fromEntries(texts(rule)));
  }

  labels() {
    return Object.fromEntries(this.fields.map((field) => [field.name, field.label]));
  }

  /** Another set, as someone else made it. */
  replace(rules) {
    this.rules = this.full(rules);
    this.draw();
  }

  /** Puts each problem, by dotted field, at its place. */
  showErrors(errors) {
    for (const place of this.list.parentElement.querySelectorAll("[data-error]")) {
      place.textContent = errors[place.dataset.error] ?? "";
      if (place.textContent) place.closest("details")?.setAttribute("open", "");
    }
    for (const [index, item] of [...this.list.children].entries()) {
      const words = errors[`${PREFIX}.${index}`];
      item.querySelector("[data-error-rule]")?.replaceChildren(words ?? "");
      if (words) item.querySelector("details").open = true;
    }
  }

  prepare(root) {
    const choice = root.querySelector("#rule-preset");
    const words = root.querySelector("#rule-preset-words");
    const keys = Object.keys(this.presets);
    choice.append(...keys.map((key) => element("option", { value: key }, this.presets[key].title)));
    const tell = () => words.replaceChildren(this.presets[choice.value].description);
    choice.addEventListener("change", tell);
    tell();
    root.querySelector("#rule-use-preset").addEventListener("click", () => {
      this.replace(this.presets[choice.value].rules);
      this.onChange();
    });
    root.querySelector("#rule-join-preset").addEventListener("click", () => {
      const known = new Set(this.rules.map((rule) => rule.name));
      this.rules.push(...this.full(this.presets[choice.value].rules.filter((rule) => !known.has(rule.name))));
      this.draw();
      this.onChange();
    });
    root.querySelector("#rule-add").addEventListener("click", () => {
      const name = unused(this.rules.map((rule) => rule.name));
      this.rules.push(...this.full([{ name, kind: "below", metric: "rollout/success", limit: 0.05 }]));
      this.draw(this.rules.length - 1);
      this.list.lastElementChild.querySelector("input").focus();
      this.onChange();
    });
  }

  full(rules) {
    const defaults = Object.fromEntries(this.fields.map((field) => [field.name, field.default]));
    return rules.map((rule) => ({ ...defaults, kind: "below", severity: "warn", ...rule }));
  }

  used(rule) {
    return this.fields.filter((field) => !field.kinds.length || field.kinds.includes(rule.kind));
  }

  draw(open = -1) {
    const opened = new Set([...this.list.querySelectorAll("details[open]")].map((one) => one.dataset.name));
    const items = this.rules.map((rule, index) => this.item(rule, index, index === open || opened.has(rule.name)));
    this.list.replaceChildren(...(items.length ? items : [none()]));
  }

  item(rule, index, open) {
    const heading = () => headline(rule, this.kinds, this.used(rule));
    const summary = element("summary", {}, ...heading());
    const remove = element("button", { class: "button button--small button--danger", type: "button" }, "Remove");
    remove.addEventListener("click", () => {
      this.rules.splice(index, 1);
      this.draw();
      this.onChange();
    });
    const fields = element("div", { class: "rule-fields" }, ...this.used(rule).map((one) => this.input(one, rule, index)));
    const problem = element("p", { class: "field-error", "data-error-rule": true, role: "alert" });
    const details = element("details", { class: "rule", open, "data-name": rule.name }, summary, problem, fields, remove);
    details.addEventListener("input", () => summary.replaceChildren(...heading()));
    return element("li", {}, details);
  }

  input(field, rule, index) {
    const id = `${PREFIX}.${index}.${field.name}`;
    const known = { id, "aria-describedby": `${id}-help` };
    const made = field.kind === "choice" ? select(field, rule, known) : text(field, rule, known);
    made.addEventListener("input", () => {
      rule[field.name] = made.value;
      if (field.name === "kind") this.redraw(index);
      this.onChange();
    });
    return element(
      "div",
      { class: field.name === "advice" || field.name === "subject" ? "field rule-wide" : "field" },
      element("label", { for: id }, field.label),
      made,
      element("p", { class: "field-help", id: `${id}-help` }, field.name === "kind" ? this.kinds[rule.kind][1] : field.help),
      element("p", { class: "field-error", "data-error": id, role: "alert" }),
    );
  }

  // another kind has other fields; the reader stays at the choice
  redraw(index) {
    this.draw(index);
    document.getElementById(`${PREFIX}.${index}.kind`).focus();
  }
}

const rank = (name) => (FIRST.includes(name) ? FIRST.indexOf(name) : FIRST.length);

function sent(field, value) {
  if (field.name !== "among") return value;
  if (Array.isArray(value)) return value;
  const names = value.split(",").map((one) => one.trim());
  return names.filter(Boolean);
}

function headline(rule, kinds, used) {
  const averaged = Number(rule.mean_over) > 1 && used.some((field) => field.name === "mean_over");
  const metric = averaged ? `${rule.metric}, mean of ${rule.mean_over}` : rule.metric;
  const finding = kinds[rule.kind][0].replace("{limit}", String(rule.limit));
  const streak = Number(rule.steps) > 1 ? `, ${rule.steps} in a row` : "";
  return [
    element("span", { class: `chip chip--${rule.severity}` }, icon("alert"), element("span", {}, rule.severity)),
    element("b", { class: "mono" }, rule.name),
    element("span", { class: "muted" }, `${metric}: ${finding}${streak}`),
    element("span", { class: "muted rule-action" }, rule.action === "by_severity" ? "" : `then ${rule.action}`),
  ];
}

function select(field, rule, known) {
  const options = field.choices.map((one) => element("option", { selected: one === rule[field.name] }, one));
  return element("select", known, ...options);
}

function text(field, rule, known) {
  const number = field.kind === "int" || field.kind === "float";
  const value = Array.isArray(rule[field.name]) ? rule[field.name].join(", ") : String(rule[field.name]);
  const list = field.name === "metric" || field.name === "holding" ? "rule-metrics" : null;
  const more = number ? { inputmode: "decimal", class: "mono" } : { autocomplete: "off" };
  return element("input", { ...known, value, list, ...more });
}

function unused(names) {
  for (let number = 1; ; number += 1) if (!names.includes(`rule_${number}`)) return `rule_${number}`;
}

function none() {
  return element("li", { class: "muted" }, "No rules: nothing is raised.");
}
