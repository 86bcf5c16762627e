// The configuration as launched, and what was changed since.

import { byId, element, find } from "../../core/dom.js";
import { currentSettings, settingText } from "../current_settings.js";

/** @import { RunPage, Setting } from "../../types.js" */
/** @import { ChangedSetting } from "../current_settings.js" */

export class ConfigTab {
  constructor() {
    this.panel = byId("changed-settings");
    this.fork = document.getElementById("fork-note");
  }

  /** @param {RunPage} runPage */
  draw({ store }) {
    const rows = [...currentSettings(store.settings)].filter(([, one]) => text(one.original) !== text(one.now));
    this.panel.hidden = byId("config-as-launched").hidden = !rows.length;
    find(this.panel, "tbody").replaceChildren(...rows.map(([field, one]) => row(field, one)));
    if (this.fork) this.fork.textContent = store.start ?? "";
  }
}

/** @param {Setting} value */
const text = (value) => JSON.stringify(value);

/**
 * @param {string} field
 * @param {ChangedSetting} changedSetting
 */
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
