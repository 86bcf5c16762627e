// A list of alert rules as forms: the metric, the limit, the action. The server validates them.

import { byId, element, find, findAll, icon, jsonOf } from "../core/dom.js";
import { visible } from "../core/visible_text.js";

/** @import { Rule, RuleField, RuleValue } from "../types.js" */
/** @import { Attributes } from "../core/dom.js" */

const PREFIX = "detectors.rules";

export class RuleEditor {
  /**
   * @param {HTMLElement} root
   * @param {() => void} onChange
   */
  constructor(root, onChange) {
    /** @type {EditorData} */
    const { kinds, presets, metrics } = jsonOf("rule-editor-data");
    this.kinds = kinds;
    this.presets = presets;
    this.onChange = onChange;
    this.list = find(root, "#rule-list");
    this.rules = this.full(jsonOf("rules-now"));
    find(root, "#rule-metrics").append(...metrics.map((name) => element("option", { value: name })));
    this.prepare(root);
    this.draw();
  }

  /** The rules as the engine reads them, with the fields of their kinds only. */
  value() {
    return this.rules.map((rule) =>
      Object.fromEntries(this.used(rule).map((field) => [field.name, sent(field, rule[field.name])])),
    );
  }

  /**
   * Any set of rules as texts by field, to be compared.
   * @param {Rule[]} rules
   * @returns {Record<string, string>[]}
   */
  asTexts(rules) {
    return this.full(rules).map((rule) =>
      Object.fromEntries(this.used(rule).map((field) => [field.name, String(rule[field.name])])),
    );
  }

  /** @returns {Record<string, string>} */
  labels() {
    const fields = Object.values(this.kinds).flatMap((kind) => kind.fields);
    return Object.fromEntries(fields.map((field) => [field.name, field.label]));
  }

  /**
   * Shows other rules instead.
   * @param {Rule[]} rules
   */
  replace(rules) {
    this.rules = this.full(rules);
    this.draw();
  }

  /**
   * Shows each problem, by dotted field, at its field.
   * @param {Record<string, string>} errors
   */
  showErrors(errors) {
    for (const slot of findAll(this.list.parentElement ?? this.list, "[data-error]")) {
      slot.textContent = visible(errors[slot.dataset.error ?? ""] ?? "");
      if (slot.textContent) slot.closest("details")?.setAttribute("open", "");
    }
    findAll(this.list, ":scope > *").forEach((item, index) => {
      const words = errors[`${PREFIX}.${index}`];
      item.querySelector("[data-error-rule]")?.replaceChildren(words ?? "");
      if (words) find(item, "details", HTMLDetailsElement).open = true;
    });
  }

  /** @param {HTMLElement} root */
  prepare(root) {
    const choice = find(root, "#rule-preset", HTMLSelectElement);
    const words = find(root, "#rule-preset-note");
    const keys = Object.keys(this.presets);
    choice.append(...keys.map((key) => element("option", { value: key }, this.presets[key].title)));
    const describe = () => words.replaceChildren(this.presets[choice.value].description);
    choice.addEventListener("change", describe);
    describe();
    find(root, "#rule-use-preset").addEventListener("click", () => {
      this.replace(this.presets[choice.value].rules);
      this.onChange();
    });
    find(root, "#rule-join-preset").addEventListener("click", () => {
      const known = new Set(this.rules.map((rule) => rule.name));
      this.rules.push(...this.full(this.presets[choice.value].rules.filter((rule) => !known.has(rule.name))));
      this.draw();
      this.onChange();
    });
    find(root, "#rule-add").addEventListener("click", () => {
      const name = unused(this.rules.map((rule) => rule.name));
      this.rules.push(...this.full([{ name, kind: "below", metric: "rollout/success", limit: 0.05 }]));
      this.draw(this.rules.length - 1);
      find(this.list, ":scope > :last-child input").focus();
      this.onChange();
    });
  }

  /**
   * @param {Rule[]} rules
   * @returns {Rule[]}
   */
  full(rules) {
    return rules.map((rule) => ({ ...this.defaults(rule), ...rule }));
  }

  /** @param {Rule} rule */
  defaults(rule) {
    return Object.fromEntries(this.used(rule).map((field) => [field.name, field.default]));
  }

  /**
   * The fields of the rule's kind; of the first kind, which the choice then shows, if there is no such kind.
   * @param {Rule} rule
   */
  used(rule) {
    return (this.kinds[rule.kind] ?? Object.values(this.kinds)[0]).fields;
  }

  draw(open = -1) {
    const opened = new Set(findAll(this.list, "details[open]").map((one) => one.dataset.name));
    const items = this.rules.map((rule, index) => this.item(rule, index, index === open || opened.has(rule.name)));
    this.list.replaceChildren(...(items.length ? items : [none()]));
  }

  /**
   * @param {Rule} rule
   * @param {number} index
   * @param {boolean} open
   */
  item(rule, index, open) {
    const heading = () => headline(rule, this.kinds, this.used(rule));
    const summary = element("summary", {}, ...heading());
    const remove = element("button", { class: "button button--small button--danger", type: "button" }, "Remove");
    remove.addEventListener("click", () => {
      this.rules.splice(index, 1);
      this.draw();
      this.onChange();
    });
    const fields = element(
      "div",
      { class: "rule-fields" },
      ...this.used(rule).map((one) => this.input(one, rule, index)),
    );
    const problem = element("p", { class: "field-error", "data-error-rule": true, role: "alert" });
    const details = element(
      "details",
      { class: "rule", open, "data-name": rule.name },
      summary,
      problem,
      fields,
      remove,
    );
    details.addEventListener("input", () => summary.replaceChildren(...heading()));
    return element("li", {}, details);
  }

  /**
   * @param {RuleField} field
   * @param {Rule} rule
   * @param {number} index
   */
  input(field, rule, index) {
    const id = `${PREFIX}.${index}.${field.name}`;
    const attributes = { id, "aria-describedby": `${id}-help` };
    const made = field.kind === "choice" ? select(field, rule, attributes) : text(field, rule, attributes);
    made.addEventListener("input", () => {
      rule[field.name] = made.value;
      if (field.name === "kind") this.redraw(rule, index);
      this.onChange();
    });
    return element(
      "div",
      { class: field.name === "advice" || field.name === "subject" ? "field rule-wide" : "field" },
      element("label", { for: id }, field.label),
      made,
      element("p", { class: "field-help", id: `${id}-help` }, field.help),
      element("p", { class: "field-error", "data-error": id, role: "alert" }),
    );
  }

  /**
   * Another kind has other fields; the focus stays at the choice.
   * @param {Rule} rule
   * @param {number} index
   */
  redraw(rule, index) {
    Object.assign(rule, { ...this.defaults(rule), ...rule });
    this.draw(index);
    byId(`${PREFIX}.${index}.kind`).focus();
  }
}

/**
 * @typedef {object} EditorData what the page has for the editor
 * @property {Record<string, { condition: string, fields: RuleField[] }>} kinds
 * @property {Record<string, { title: string, description: string, rules: Rule[] }>} presets
 * @property {string[]} metrics
 */

/**
 * @param {RuleField} field
 * @param {RuleValue} value
 */
function sent(field, value) {
  if (field.name !== "among") return value;
  if (Array.isArray(value)) return value;
  const names = String(value)
    .split(",")
    .map((one) => one.trim());
  return names.filter(Boolean);
}

/**
 * @param {Rule} rule
 * @param {EditorData["kinds"]} kinds
 * @param {RuleField[]} used
 */
function headline(rule, kinds, used) {
  const averaged = Number(rule.mean_over) > 1 && used.some((field) => field.name === "mean_over");
  const metric = averaged ? `${rule.metric}, mean of ${rule.mean_over}` : rule.metric;
  const finding = (kinds[rule.kind]?.condition ?? rule.kind).replace("{limit}", String(rule.limit));
  const streak = Number(rule.steps) > 1 ? `, ${rule.steps} in a row` : "";
  return [
    element(
      "span",
      { class: `chip chip--${rule.severity}` },
      icon("alert"),
      element("span", {}, String(rule.severity)),
    ),
    element("b", { class: "mono" }, rule.name),
    element("span", { class: "muted" }, `${metric}: ${finding}${streak}`),
    element("span", { class: "muted rule-action" }, rule.action === "by_severity" ? "" : `then ${rule.action}`),
  ];
}

/**
 * @param {RuleField} field
 * @param {Rule} rule
 * @param {Attributes} attributes
 */
function select(field, rule, attributes) {
  const options = field.choices.map((one) => element("option", { selected: one === rule[field.name] }, one));
  return element("select", attributes, ...options);
}

/**
 * @param {RuleField} field
 * @param {Rule} rule
 * @param {Attributes} attributes
 */
function text(field, rule, attributes) {
  const number = field.kind === "int" || field.kind === "float";
  const known = rule[field.name];
  const value = Array.isArray(known) ? known.join(", ") : String(known);
  const list = field.name === "metric" || field.name === "holding" ? "rule-metrics" : null;
  const more = number ? { inputmode: "decimal", class: "mono" } : { autocomplete: "off" };
  return element("input", { ...attributes, value, list, ...more });
}

/** @param {string[]} names */
function unused(names) {
  for (let number = 1; ; number += 1) if (!names.includes(`rule_${number}`)) return `rule_${number}`;
}

function none() {
  return element("li", { class: "muted" }, "No rules: no alerts are raised.");
}
