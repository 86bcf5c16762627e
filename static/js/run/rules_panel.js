// The alert rules of a run on its page: edited, tried on what is recorded, and applied from the next step.

import { visible } from "../core/visible_text.js";
import { byId, control, element, find, findAll, icon, jsonOf } from "../core/dom.js";
import { post } from "../core/requests.js";
import { RuleEditor } from "../forms/rule_editor.js";
import { RulesConflict } from "./rules_conflict.js";
import { isChangeable } from "./states.js";
import { toast } from "../core/toast.js";

/** @import { FormAnswer, Rule, RunState, Setting, SettingsState } from "../types.js" */
/** @import { RulesShown } from "./rules_conflict.js" */
/** @typedef {{ step: number, severity: string, action: string, raised: boolean, message: string, rule: string }} Firing */
/** @typedef {FormAnswer & { firings: Firing[], count: number, steps: number, last: number }} Trial */
/** @typedef {FormAnswer & { changes: Record<string, Setting>, state: RunState }} Applied */

export class RulesPanel {
  edited = false;
  applying = false;
  /** @type {SettingsState | null} rules of another user, while there are edits here */
  theirs = null;

  /** @param {string} trajectories address of the list */
  constructor(trajectories) {
    this.trajectories = trajectories;
    this.form = byId("rules-form", HTMLFormElement);
    this.status = byId("rules-status");
    this.found = byId("rules-found");
    /** @type {RunState} */
    const { settings } = jsonOf("live-state");
    this.revision = settings.revision; // that the page was written with
    this.held = rulesOf(settings);
    this.editor = new RuleEditor(byId("rule-editor"), () => this.markEdited());
    /** @type {Rule[]} */
    const rules = jsonOf("rules-now");
    /** @type {RulesShown} */
    this.before = { rules: this.editor.asTexts(rules), actions: this.actions() };
    this.conflict = new RulesConflict(byId("rules-conflict"), this.editor.labels(), {
      onMine: () => this.applyOver(),
      onTheirs: () => this.discardMine(),
    });
    this.form.addEventListener("change", (event) => {
      if (event.target instanceof HTMLElement && event.target.dataset.action) this.markEdited();
    });
    this.form.addEventListener("submit", (event) => event.preventDefault());
    byId("rules-try").addEventListener("click", () => this.try());
    this.button = byId("rules-apply", HTMLButtonElement);
    this.button.addEventListener("click", () => this.apply());
  }

  /** @param {RunState} state */
  draw(state) {
    const live = isChangeable(state.state);
    this.button.disabled = !live;
    this.button.title = live ? "" : "The run has ended.";
    if (this.applying || state.settings.revision <= this.revision) return;
    if (this.edited && rulesOf(state.settings) !== this.held) this.showConflict(state.settings);
    else this.follow(state.settings);
  }

  /**
   * Another user's rules are in force: their changes are shown, and the edits stay.
   * @param {SettingsState} settings
   */
  showConflict(settings) {
    if (this.theirs?.revision === settings.revision) return;
    this.theirs = settings;
    this.conflict.show(this.before, this.shownAs(this.rulesIn(settings), settings.changes));
    this.status.textContent = "Edited, not applied.";
  }

  async applyOver() {
    if (!this.theirs) return;
    this.revision = this.theirs.revision; // seen, and to be overwritten
    await this.apply();
  }

  discardMine() {
    if (!this.theirs) return;
    this.edited = false;
    this.follow(this.theirs);
    this.showErrors({});
    this.status.textContent = "These are the rules in force.";
  }

  /**
   * Rules and actions as texts, to be compared.
   * @param {Rule[]} rules
   * @param {Record<string, Setting>} changes
   * @returns {RulesShown}
   */
  shownAs(rules, changes) {
    const actions = Object.entries(this.actions()).map(([name, shown]) => {
      return [name, String(changes[`detectors.${name}`] ?? this.before.actions[name] ?? shown)];
    });
    return { rules: this.editor.asTexts(rules), actions: Object.fromEntries(actions) };
  }

  /**
   * @param {SettingsState} settings
   * @returns {Rule[]}
   */
  rulesIn({ changes }) {
    return /** @type {Rule[] | undefined} */ (changes["detectors.rules"]) ?? this.before.rules.map(asRule);
  }

  /**
   * Shows the rules in force; edits stay where only other settings changed.
   * @param {SettingsState} settings
   */
  follow(settings) {
    const held = rulesOf(settings);
    if (held !== this.held) {
      const now = this.shownAs(this.rulesIn(settings), settings.changes);
      this.editor.replace(this.rulesIn(settings));
      for (const one of this.actionChoices()) one.value = now.actions[one.dataset.action ?? ""];
      this.before = now;
    }
    this.revision = settings.revision;
    this.held = held;
    this.theirs = null;
    this.conflict.hide();
  }

  markEdited() {
    this.edited = true;
    this.status.textContent = "Edited, not applied.";
  }

  /** @param {Record<string, string>} values */
  body(values) {
    const made = new FormData();
    made.set("csrfmiddlewaretoken", control(this.form, "csrfmiddlewaretoken").value);
    for (const [key, value] of Object.entries(values)) made.set(key, value);
    return made;
  }

  /** @returns {Record<string, string>} */
  actions() {
    return Object.fromEntries(this.actionChoices().map((one) => [one.dataset.action, one.value]));
  }

  actionChoices() {
    return findAll(this.form, "[data-action]", HTMLSelectElement);
  }

  async try() {
    this.status.textContent = "Trying …";
    const rules = JSON.stringify(this.editor.value());
    /** @type {Trial | null} */
    const answer = await post(this.form.dataset.try ?? "", this.body({ rules, ...this.actions() }));
    if (!answer || !this.showErrors(answer)) return;
    this.status.textContent = "";
    this.found.replaceChildren(...this.outcome(answer));
  }

  async apply() {
    const actions = Object.entries(this.actions()).map(([name, value]) => [`detectors.${name}`, value]);
    const changes = JSON.stringify({ "detectors.rules": this.editor.value(), ...Object.fromEntries(actions) });
    this.applying = true; // an update about it is not another user's
    /** @type {Applied | null} */
    const answer = await post(this.form.dataset.apply ?? "", this.body({ changes, revision: String(this.revision) }));
    this.applying = false;
    if (!answer || !this.showErrors(answer)) return;
    this.edited = false;
    this.follow(answer.state.settings);
    const count = Object.keys(answer.changes).length;
    this.status.textContent = count ? "Requested; in force from the next step." : "These rules are in force already.";
    if (count) toast("The rules were changed.");
  }

  /**
   * Shows the errors of an answer; whether there are none.
   * @param {FormAnswer} answer
   */
  showErrors(answer) {
    const errors = Object.fromEntries(
      Object.entries(answer.errors ?? {}).map(([field, words]) => [field, [words].flat().join(" ")]),
    );
    this.editor.showErrors(errors);
    const count = Object.keys(errors).length;
    find(this.form, ".field-error[data-error='']").textContent = visible(errors[""] ?? "");
    if (count) this.status.textContent = `Fix ${count} ${count === 1 ? "field" : "fields"}.`;
    return !count;
  }

  /** @param {Trial} trial */
  outcome({ firings, count, steps, last }) {
    if (!steps) return [element("p", { class: "muted" }, "Nothing is recorded yet. Try again after some steps.")];
    const over = `Over ${steps} recorded steps, to step ${last}`;
    if (!count) {
      return [element("p", { class: "banner banner--good" }, `${over}: none of these rules would have fired.`)];
    }
    const more = count > firings.length ? `, of which the first ${firings.length} are shown` : "";
    return [
      element("h3", {}, `${over}: ${count} ${count === 1 ? "alert" : "alerts"}${more}`),
      element("ol", { class: "firings" }, ...firings.map((one) => this.firing(one))),
    ];
  }

  /** @param {Firing} one */
  firing(one) {
    const then = one.action === "notify" ? "" : `, then ${one.action}`;
    const raised = one.raised ? " · raised in the run as well" : "";
    return element(
      "li",
      {},
      element("a", { class: "mono", href: `${this.trajectories}?step=${one.step}` }, `step ${one.step}`),
      element("span", { class: `chip chip--${one.severity}` }, icon("alert"), element("span", {}, one.severity)),
      element(
        "span",
        {},
        one.message,
        element("br"),
        element("small", { class: "muted" }, `${one.rule}${then}${raised}`),
      ),
    );
  }
}

/**
 * @param {Record<string, string>} texts
 * @returns {Rule}
 */
const asRule = (texts) => ({ ...texts, name: texts.name, kind: texts.kind });

/**
 * The rules and the actions by severity, as far as they were changed, to be compared.
 * @param {SettingsState} settings
 */
function rulesOf({ changes }) {
  const fields = Object.keys(changes).filter((field) => field.startsWith("detectors."));
  return JSON.stringify(fields.sort().map((field) => [field, changes[field]]));
}
