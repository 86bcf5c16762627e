// The rules of a run on its page: edited, tried on what is recorded, and applied from the next step.

import { element, icon } from "../core/dom.js";
import { post } from "../core/requests.js";
import { RuleEditor } from "../forms/rule_editor.js";
import { RulesConflict } from "./rules_conflict.js";
import { toast } from "../core/toast.js";

const CHANGEABLE = ["queued", "starting", "running", "paused", "stalled", "lost"];

export class RulesPanel {
  constructor(trajectories) {
    this.trajectories = trajectories;
    this.form = document.getElementById("rules-form");
    this.status = document.getElementById("rules-status");
    this.found = document.getElementById("rules-found");
    this.edited = false;
    const { settings } = JSON.parse(document.getElementById("live-state").textContent);
    Object.assign(this, { revision: settings.revision, held: rulesOf(settings) }); // what the page was written with
    this.editor = new RuleEditor(document.getElementById("rule-editor"), () => this.note());
    this.before = this.asHeld(JSON.parse(document.getElementById("rules-now").textContent));
    this.conflict = new RulesConflict(document.getElementById("rules-conflict"), this.editor.labels(), {
      onMine: () => this.applyOver(),
      onTheirs: () => this.takeTheirs(),
    });
    this.form.addEventListener("change", (event) => {
      if (event.target.dataset.action) this.note();
    });
    this.form.addEventListener("submit", (event) => event.preventDefault());
    document.getElementById("rules-try").addEventListener("click", () => this.try());
    this.button = document.getElementById("rules-apply");
    this.button.addEventListener("click", () => this.apply());
  }

  draw(state) {
    const live = CHANGEABLE.includes(state.state);
    this.button.disabled = !live;
    this.button.title = live ? "" : "The run has ended.";
    if (this.applying || state.settings.revision <= this.revision) return;
    if (this.edited && rulesOf(state.settings) !== this.held) this.differ(state.settings);
    else this.follow(state.settings);
  }

  // Somebody else's rules hold: they are shown, and what was typed stays.
  differ(settings) {
    if (this.theirs?.revision === settings.revision) return;
    this.theirs = settings;
    this.conflict.show(this.before, this.asHeld(this.rulesIn(settings), settings.changes));
    this.status.textContent = "Edited, not applied.";
  }

  async applyOver() {
    this.revision = this.theirs.revision; // seen, and to be written over
    await this.apply();
  }

  takeTheirs() {
    this.edited = false;
    this.follow(this.theirs);
    this.isGood({});
    this.status.textContent = "These are the rules that hold.";
  }

  // what stands in the form, as rules and actions to be compared
  asHeld(rules, changes = {}) {
    const actions = Object.entries(this.actions()).map(([name, shown]) => {
      return [name, changes[`detectors.${name}`] ?? this.before?.actions[name] ?? shown];
    });
    return { rules: this.editor.asTexts(rules), actions: Object.fromEntries(actions) };
  }

  rulesIn({ changes }) {
    return changes["detectors.rules"] ?? this.before.rules;
  }

  // What is shown becomes what holds; edits stay where only other settings changed.
  follow(settings) {
    const held = rulesOf(settings);
    if (held !== this.held) {
      const now = this.asHeld(this.rulesIn(settings), settings.changes);
      this.editor.replace(this.rulesIn(settings));
      for (const one of this.actionChoices()) one.value = now.actions[one.dataset.action];
      this.before = now;
    }
    Object.assign(this, { revision: settings.revision, held, theirs: null });
    this.conflict.hide();
  }

  note() {
    this.edited = true;
    this.status.textContent = "Edited, not applied.";
  }

  body(more) {
    const made = new FormData();
    made.set("csrfmiddlewaretoken", this.form.elements.csrfmiddlewaretoken.value);
    for (const [key, value] of Object.entries(more)) made.set(key, value);
    return made;
  }

  actions() {
    return Object.fromEntries(this.actionChoices().map((one) => [one.dataset.action, one.value]));
  }

  actionChoices() {
    return [...this.form.querySelectorAll("[data-action]")];
  }

  async try() {
    this.status.textContent = "Trying …";
    const rules = JSON.stringify(this.editor.value());
    const answer = await post(this.form.dataset.try, this.body({ rules, ...this.actions() }));
    if (!this.isGood(answer)) return;
    this.status.textContent = "";
    this.found.replaceChildren(...this.outcome(answer));
  }

  async apply() {
    const actions = Object.entries(this.actions()).map(([name, value]) => [`detectors.${name}`, value]);
    const changes = JSON.stringify({ "detectors.rules": this.editor.value(), ...Object.fromEntries(actions) });
    this.applying = true; // the news of it is not that of somebody else
    const answer = await post(this.form.dataset.apply, this.body({ changes, revision: this.revision }));
    this.applying = false;
    if (!this.isGood(answer)) return;
    this.edited = false;
    this.follow(answer.state.settings);
    const count = Object.keys(answer.changes).length;
    this.status.textContent = count ? "Asked for; they watch from the next step on." : "These rules hold already.";
    if (count) toast("The rules were changed.");
  }

  isGood(answer) {
    const errors = Object.fromEntries(
      Object.entries(answer?.errors ?? {}).map(([field, words]) => [field, [words].flat().join(" ")]),
    );
    this.editor.showErrors(errors);
    const count = Object.keys(errors).length;
    this.form.querySelector(".field-error[data-error='']").textContent = errors[""] ?? "";
    if (count) this.status.textContent = `${count} ${count === 1 ? "thing" : "things"} to mend.`;
    return !count;
  }

  outcome({ firings, count, steps, last }) {
    if (!steps) return [element("p", { class: "muted" }, "Nothing is recorded yet. Try again after some steps.")];
    const over = `Over ${steps} recorded steps, to step ${last}`;
    if (!count) return [element("p", { class: "banner banner--good" }, `${over}: none of these rules would have spoken.`)];
    const more = count > firings.length ? `, of which the first ${firings.length} are shown` : "";
    return [
      element("h3", {}, `${over}: ${count} ${count === 1 ? "alert" : "alerts"}${more}`),
      element("ol", { class: "firings" }, ...firings.map((one) => this.firing(one))),
    ];
  }

  firing(one) {
    const then = one.action === "notify" ? "" : `, then ${one.action}`;
    const raised = one.raised ? " · the run raised it too" : "";
    return element(
      "li",
      {},
      element("a", { class: "mono", href: `${this.trajectories}?step=${one.step}` }, `step ${one.step}`),
      element("span", { class: `chip chip--${one.severity}` }, icon("alert"), element("span", {}, one.severity)),
      element("span", {}, one.message, element("br"), element("small", { class: "muted" }, `${one.rule}${then}${raised}`)),
    );
  }
}

// the rules and what follows on each severity, as far as they were changed, to be compared
function rulesOf({ changes }) {
  const fields = Object.keys(changes).filter((field) => field.startsWith("detectors."));
  return JSON.stringify(fields.sort().map((field) => [field, changes[field]]));
}
