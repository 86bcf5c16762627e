// Settings that can change while a run is live, the history of requests, and other runs of its configuration.

import { byId, control, find } from "../../core/dom.js";
import { getPage, post } from "../../core/requests.js";
import { isChangeable } from "../states.js";
import { toast } from "../../core/toast.js";
import {
  allInputs,
  inputOf,
  markChanged,
  sentInputs,
  showErrors,
  showVariant,
  valueOf,
  watchVariants,
} from "../../forms/fields.js";

/** @import { Field } from "../../forms/fields.js" */
/** @import { FilterChoice, FormAnswer, RunPage, RunState, Setting, SettingsChanged, SettingsState } from "../../types.js" */

export class ControlTab {
  /** @type {Set<string>} */
  touched = new Set();
  /** @type {boolean} */
  inView = false;
  /** @type {number} */
  requests = 0;
  /** @type {number | null} */
  read = null;

  constructor() {
    this.form = byId("live-settings", HTMLFormElement);
    this.status = byId("live-settings-status");
    this.history = byId("history");
    this.revision = Number(this.form.dataset.revision);
    watchVariants(this.form);
    this.form.addEventListener("input", (event) => {
      this.touched.add(event.target instanceof Element ? (event.target.getAttribute("name") ?? "") : "");
      this.mark();
    });
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.apply();
    });
    this.mark();
  }

  /** @param {RunPage} runPage */
  draw({ store, state }) {
    const live = isChangeable(state.state);
    for (const input of allInputs(this.form)) input.disabled = !live;
    find(this.form, "button", HTMLButtonElement).disabled = !live;
    if (!live) this.status.textContent = "The run has ended. Fork it to continue with other settings.";
    else this.status.textContent = this.statusOf(store.settings.at(-1), state.settings);
    if (state.settings.revision !== this.revision) this.follow(state.settings);
    if (this.inView && state.audited !== this.read) this.refresh(state.audited ?? null);
  }

  /**
   * What the engine has reported about the newest request.
   * @param {SettingsChanged | undefined} event
   * @param {SettingsState} wanted
   */
  statusOf(event, wanted) {
    if (!wanted.revision) return "";
    if (!event || event.revision < wanted.revision) return "Requested; in force once the step in progress is done.";
    if (event.refused) return `The engine refused: ${event.refused}`;
    return `In force since step ${event.step + 1}.`;
  }

  /**
   * Another user changed them: fields that the reader has not touched follow.
   * @param {SettingsState} wanted
   */
  follow(wanted) {
    this.revision = wanted.revision;
    for (const [name, value] of Object.entries(byInput(wanted.changes))) {
      const input = this.touched.has(name) ? null : inputOf(this.form, name);
      if (input) show(input, value);
    }
    this.mark();
  }

  /** @param {boolean} on */
  shown(on) {
    this.inView = on;
    this.read = null; // the next drawing requests it
  }

  /**
   * `count` is how many entries were known when it was requested.
   * @param {number | null} count
   */
  async refresh(count) {
    this.read = count;
    this.requests += 1;
    const mine = this.requests;
    const page = await getPage(this.history.dataset.address ?? "");
    if (page && mine === this.requests) this.history.replaceChildren(...page); // a later answer is the newer one
  }

  async apply() {
    const changes = byField(sentInputs(this.form));
    const body = new FormData();
    body.set("csrfmiddlewaretoken", control(this.form, "csrfmiddlewaretoken").value);
    body.set("revision", String(this.revision));
    body.set("changes", JSON.stringify(changes));
    /** @type {(FormAnswer & { changes: Record<string, Setting>, state?: RunState }) | null} */
    const answer = await post(this.form.action, body);
    const errors = answer?.errors ?? {};
    showErrors(this.form, errors);
    this.refresh(this.read); // what was refused is on record too
    if (!answer || Object.keys(errors).length) return;
    this.touched.clear();
    if (!Object.keys(answer.changes).length) toast("Nothing differs from the settings in force.");
    else if (answer.state) this.follow(answer.state.settings);
  }

  mark() {
    markChanged(this.form);
  }
}

const FILTER = "filter."; // set as a whole, since its fields depend on its type

/**
 * Inputs as changes of a configuration.
 * @param {Field[]} inputs
 */
function byField(inputs) {
  /** @type {Record<string, unknown>} */
  const changes = {};
  /** @type {Record<string, unknown>} */
  const filter = {};
  for (const input of inputs) {
    if (input.name.startsWith(FILTER)) filter[input.name.slice(FILTER.length)] = valueOf(input);
    else changes[input.name] = valueOf(input);
  }
  return { ...changes, filter };
}

/**
 * Changes of a configuration by the names of inputs; a type comes before its fields.
 * @param {Record<string, Setting>} changes
 * @returns {Record<string, Setting>}
 */
function byInput({ filter, ...others }) {
  if (filter === undefined) return others;
  const { type, ...fields } = /** @type {FilterChoice} */ (filter);
  const names = Object.entries(fields).map(([key, value]) => [FILTER + key, value]);
  return { ...others, [`${FILTER}type`]: type, ...Object.fromEntries(names) };
}

/**
 * @param {Field} input
 * @param {Setting} value
 */
function show(input, value) {
  if (input instanceof HTMLInputElement && input.type === "checkbox") input.checked = Boolean(value);
  else input.value = String(value);
  if (input instanceof HTMLSelectElement && input.dataset.variants) showVariant(input);
}
