// The configuration as the server wrote it, and what was changed since.

import { element } from "../../core/dom.js";
import { settingText, settingsNow } from "../current_settings.js";

export class ConfigTab {
  constructor() {
    this.panel = document.getElementById("changed-settings");
    this.fork = document.getElementById("fork-words");
  }

  draw({ store }) {
    const rows = [...settingsNow(store.settings)].filter(([, one]) => text(one.original) !== text(one.now));
    this.panel.hidden = document.getElementById("config-as-launched").hidden = !rows.length;
    this.panel.querySelector("tbody").replaceChildren(...rows.map(([field, one]) => row(field, one)));
    if (this.fork) this.fork.textContent = store.start ?? "";
  }
}

const text = (value) => JSON.stringify(value);

function row(field, { original, now, step }) {
  return element(
    "tr",
    {},
    element("td", { class: "mono" }, field),
    element("td", { class: "mono" }, settingText(original)),
    element("td", { class: "mono" }, settingText(now)),
    element("td", {}, `step ${step + 1}`),
  );
}
