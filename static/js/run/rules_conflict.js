// What somebody else saved while rules were edited here: what they changed, beside what was typed, which stays. That can
// be written over theirs, or given up for it.

import { element } from "../core/dom.js";
import { visibleString } from "../core/visible_text.js";

export class RulesConflict {
  // `labels` of the fields of a rule
  constructor(root, labels, { onMine, onTheirs }) {
    Object.assign(this, { root, labels });
    const button = (words, act) => {
      const made = element("button", { class: "button button--small", type: "button" }, words);
      made.addEventListener("click", act);
      return made;
    };
    this.changes = element("ul", {});
    root.append(
      element("p", {}, "Someone else has changed the rules meanwhile. Yours stay as you typed them. They changed:"),
      this.changes,
      element("div", { class: "toolbar" }, button("Apply mine over theirs", onMine), button("Take theirs", onTheirs)),
    );
  }

  /** `before` is what both began with: {rules: [{field: text}], actions: {name: text}}. */
  show(before, theirs) {
    const actions = changesOf(before.actions, theirs.actions, actionWords);
    const told = [...this.ofRules(before.rules, theirs.rules), ...actions];
    this.changes.replaceChildren(...told.map((words) => element("li", {}, visibleString(words))));
    this.root.hidden = false;
  }

  hide() {
    this.root.hidden = true;
  }

  ofRules(before, after) {
    const named = (rules, name) => rules.find((rule) => rule.name === name);
    const gone = before.filter(({ name }) => !named(after, name)).map(({ name }) => `${name} removed`);
    const other = after.flatMap((rule) => {
      const was = named(before, rule.name);
      if (!was) return [`${rule.name} added: ${rule.kind} ${rule.limit ?? ""}, ${rule.metric ?? ""}`];
      const fields = changesOf(was, rule, (name) => this.labels[name] ?? name);
      return fields.length ? [`${rule.name}: ${fields.join("; ")}`] : [];
    });
    const told = [...gone, ...other];
    const moved = !told.length && before.some(({ name }, place) => after[place].name !== name);
    return moved ? ["Their order"] : told;
  }
}

const actionWords = (name) => `After ${name.replace("_action", "")}`;

function changesOf(before, after, worded) {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  const changed = names.filter((name) => before[name] !== after[name]);
  return changed.map((name) => `${worded(name)} ${before[name] || "none"} → ${after[name] || "none"}`);
}
