// What another user saved while rules were edited here. What was typed stays; it can be applied over theirs, or dropped.

import { element } from "../core/dom.js";
import { visibleString } from "../core/visible_text.js";

/** @typedef {Record<string, string>} RuleTexts a rule, or actions, as text by field */
/** @typedef {{ rules: RuleTexts[], actions: RuleTexts }} RulesShown */

export class RulesConflict {
  /**
   * @param {HTMLElement} root
   * @param {Record<string, string>} labels
   * @param {{ onMine: () => void, onTheirs: () => void }} options
   */
  constructor(root, labels, { onMine, onTheirs }) {
    this.root = root;
    this.labels = labels;
    /**
     * @param {string} words
     * @param {() => void} act
     */
    const button = (words, act) => {
      const made = element("button", { class: "button button--small", type: "button" }, words);
      made.addEventListener("click", act);
      return made;
    };
    this.changes = element("ul", {});
    root.append(
      element("p", {}, "Someone else has changed the rules meanwhile. Your edits are kept. They changed:"),
      this.changes,
      element("div", { class: "toolbar" }, button("Apply mine over theirs", onMine), button("Discard mine", onTheirs)),
    );
  }

  /**
   * `before` is what both began with.
   * @param {RulesShown} before
   * @param {RulesShown} theirs
   */
  show(before, theirs) {
    const actions = changesOf(before.actions, theirs.actions, actionWords);
    const lines = [...this.ofRules(before.rules, theirs.rules), ...actions];
    this.changes.replaceChildren(...lines.map((words) => element("li", {}, visibleString(words))));
    this.root.hidden = false;
  }

  hide() {
    this.root.hidden = true;
  }

  /**
   * @param {RuleTexts[]} before
   * @param {RuleTexts[]} after
   */
  ofRules(before, after) {
    const named = (/** @type {RuleTexts[]} */ rules, /** @type {string} */ name) =>
      rules.find((rule) => rule.name === name);
    const gone = before.filter(({ name }) => !named(after, name)).map(({ name }) => `${name} removed`);
    const other = after.flatMap((rule) => {
      const was = named(before, rule.name);
      if (!was) return [`${rule.name} added: ${rule.kind} ${rule.limit ?? ""}, ${rule.metric ?? ""}`];
      const fields = changesOf(was, rule, (field) => this.labels[field] ?? field);
      return fields.length ? [`${rule.name}: ${fields.join("; ")}`] : [];
    });
    const lines = [...gone, ...other];
    const moved = !lines.length && before.some(({ name }, index) => after[index].name !== name);
    return moved ? ["Their order"] : lines;
  }
}

/** @param {string} name */
const actionWords = (name) => `After ${name.replace("_action", "")}`;

/**
 * @param {RuleTexts} before
 * @param {RuleTexts} after
 * @param {(name: string) => string} labelOf
 */
function changesOf(before, after, labelOf) {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  const changed = names.filter((name) => before[name] !== after[name]);
  return changed.map((name) => `${labelOf(name)} ${before[name] || "none"} → ${after[name] || "none"}`);
}
