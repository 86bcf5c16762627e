// Settings of a run that goes on, who asked what of it, and other runs of its configuration.

import { post } from "../../core/requests.js";
import { toast } from "../../core/toast.js";
import { allInputs, inputOf, markChanged, sentInputs, showErrors, showVariant, valueOf, watchVariants } from "../../forms/fields.js";

const CHANGEABLE = ["queued", "starting", "running", "paused", "stalled", "lost"];

export class ControlTab {
  constructor() {
    this.form = document.getElementById("live-settings");
    this.status = document.getElementById("live-settings-status");
    this.history = document.getElementById("history");
    this.revision = Number(this.form.dataset.revision);
    this.touched = new Set();
    watchVariants(this.form);
    this.form.addEventListener("input", (event) => {
      this.touched.add(event.target.name);
      this.mark();
    });
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.apply();
    });
    this.mark();
  }

  draw({ store, state }) {
    const live = CHANGEABLE.includes(state.state);
    for (const input of allInputs(this.form)) input.disabled = !live;
    this.form.querySelector("button").disabled = !live;
    if (!live) this.status.textContent = "The run has ended: fork it to go on with other settings.";
    else this.status.textContent = this.word(store.settings.at(-1), state.settings);
    if (state.settings.revision !== this.revision) this.follow(state.settings);
    if (this.waits && state.asked !== this.read) this.refresh(state.asked);
  }

  // what the engine has said of the newest wish
  word(event, wanted) {
    if (!wanted.revision) return "";
    if (!event || event.revision < wanted.revision) return "Asked for; they hold once the step in progress is done.";
    if (event.refused) return `The engine refused: ${event.refused}`;
    return `In force since step ${event.step + 1}.`;
  }

  // someone changed them: what the reader has not touched follows
  follow(wanted) {
    this.revision = wanted.revision;
    for (const [name, value] of Object.entries(byInput(wanted.changes))) {
      const input = this.touched.has(name) ? null : inputOf(this.form, name);
      if (input) show(input, value);
    }
    this.mark();
  }

  shown(on) {
    this.waits = on;
    this.read = null; // the next drawing reads it
  }

  // `count`: of the entries that were known of when it was asked for
  async refresh(count) {
    this.read = count;
    const mine = (this.asked = (this.asked ?? 0) + 1);
    const answer = await fetch(this.history.dataset.address).catch(() => null);
    if (!answer?.ok || answer.redirected) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (mine !== this.asked) return; // a later answer is the newer one
    this.history.replaceChildren(...[...page.body.children].map((one) => document.adoptNode(one)));
  }

  async apply() {
    const changes = byField(sentInputs(this.form));
    const body = new FormData();
    body.set("csrfmiddlewaretoken", this.form.elements.csrfmiddlewaretoken.value);
    body.set("revision", this.revision);
    body.set("changes", JSON.stringify(changes));
    const answer = await post(this.form.action, body);
    const errors = answer?.errors ?? {};
    showErrors(this.form, errors);
    this.refresh(this.read); // what was refused is on record too
    if (Object.keys(errors).length) return;
    this.touched.clear();
    if (!Object.keys(answer.changes).length) toast("No changes.");
    else if (answer.state) this.follow(answer.state.settings);
  }

  mark() {
    markChanged(this.form);
  }
}

const FILTER = "filter."; // set as a whole, since its fields depend on its type

// inputs as changes of a configuration
function byField(inputs) {
  const changes = {};
  for (const input of inputs) {
    if (input.name.startsWith(FILTER)) (changes.filter ??= {})[input.name.slice(FILTER.length)] = valueOf(input);
    else changes[input.name] = valueOf(input);
  }
  return changes;
}

// changes of a configuration by the names of inputs; a type comes before its fields
function byInput({ filter, ...others }) {
  const { type, ...fields } = filter ?? {};
  const names = Object.entries(fields).map(([key, value]) => [FILTER + key, value]);
  return filter ? { ...others, [`${FILTER}type`]: type, ...Object.fromEntries(names) } : others;
}

function show(input, value) {
  if (input.type === "checkbox") input.checked = Boolean(value);
  else input.value = String(value);
  if (input.dataset.variants) showVariant(input);
}
