// The configuration as launched, how it differs from its preset and its parent, and what was changed since.

import { copyBy } from "../../core/clipboard.js";
import { byId, element, find } from "../../core/dom.js";
import { getPage } from "../../core/requests.js";
import { keepWideTablesReachable } from "../../core/wide_tables.js";
import { currentSettings, settingText } from "../current_settings.js";

/** @import { RunPage, Setting } from "../../types.js" */
/** @import { ChangedSetting } from "../current_settings.js" */

export class ConfigTab {
  changes = -1; // of settings, when the differences were read

  constructor() {
    const copy = byId("config-copy");
    copy.addEventListener("click", () => copyBy(copy, byId("config-toml").textContent ?? ""));
    this.differences = byId("config-differences");
    this.panel = byId("changed-settings");
    this.fork = document.getElementById("fork-note");
  }

  /** @param {RunPage} runPage */
  draw({ store }) {
    const rows = [...currentSettings(store.settings)].filter(([, one]) => text(one.original) !== text(one.now));
    this.panel.hidden = byId("config-as-launched").hidden = !rows.length;
    find(this.panel, "tbody").replaceChildren(...rows.map(([field, one]) => row(field, one)));
    if (this.fork) this.fork.textContent = store.start ?? "";
    if (this.changes !== store.settings.length) this.readDifferences(store.settings.length);
  }

  /** @param {number} changes */
  async readDifferences(changes) {
    this.changes = changes;
    const page = await getPage(this.differences.dataset.address ?? "");
    if (!page) this.changes = -1;
    else if (changes === this.changes) {
      this.differences.replaceChildren(...page);
      keepWideTablesReachable(this.differences);
    }
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
