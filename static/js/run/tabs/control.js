// Settings of a run that goes on, who asked what of it, and other runs of its configuration.

import { post } from "../../core/requests.js";
import { toast } from "../../core/toast.js";

const CHANGEABLE = ["queued", "starting", "running", "paused", "stalled", "lost"];

export class ControlTab {
  constructor() {
    this.form = document.getElementById("live-settings");
    this.status = document.getElementById("live-settings-status");
    this.history = document.getElementById("history");
    this.revision = Number(this.form.dataset.revision);
    this.touched = new Set();
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
    for (const input of this.inputs()) input.disabled = !live;
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
    for (const input of this.inputs())
      if (input.name in wanted.changes && !this.touched.has(input.name)) show(input, wanted.changes[input.name]);
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
    const changes = Object.fromEntries(this.inputs().map((input) => [input.name, valueOf(input)]));
    const body = new FormData();
    body.set("csrfmiddlewaretoken", this.form.elements.csrfmiddlewaretoken.value);
    body.set("revision", this.revision);
    body.set("changes", JSON.stringify(changes));
    const answer = await post(this.form.action, body);
    const errors = answer?.errors ?? {};
    for (const place of this.form.querySelectorAll("[data-error]")) {
      const words = errors[place.dataset.error];
      place.textContent = Array.isArray(words) ? words.join(" ") : (words ?? "");
      this.form.elements[place.dataset.error]?.setAttribute?.("aria-invalid", String(Boolean(words)));
    }
    this.refresh(this.read); // what was refused is on record too
    if (Object.keys(errors).length) return;
    this.touched.clear();
    if (!Object.keys(answer.changes).length) toast("Nothing differs from what holds now.");
    else if (answer.state) this.follow(answer.state.settings);
  }

  inputs() {
    return [...this.form.elements].filter((one) => one.name && one.type !== "hidden");
  }

  mark() {
    for (const field of this.form.querySelectorAll("[data-original]")) {
      const input = field.querySelector("input, select");
      const changed = String(valueOf(input)) !== field.dataset.original;
      field.classList.toggle("field--live-changed", changed);
    }
  }
}

const valueOf = (input) => (input.type === "checkbox" ? input.checked : input.value.trim());

function show(input, value) {
  if (input.type === "checkbox") input.checked = Boolean(value);
  else input.value = String(value);
}

