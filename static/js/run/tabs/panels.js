// Charts by choice: the presets, and the reader's own layouts. The selected one is in the address: `panels=<preset or
// layout>`, or `charts=<the layout itself>` while it is not saved.

import { byId, element, find } from "../../core/dom.js";
import { editLayout } from "../../charts/layout_editor.js";
import { fromText, openLayout, savedLayouts, saveLayout, toText } from "../../charts/layouts.js";
import { toast } from "../../core/toast.js";

/** @import { ChartChoice, Preset, RunPage } from "../../types.js" */
/** @import { Edited } from "../../charts/layout_editor.js" */
/** @import { Panels } from "../panels.js" */
/** @import { RunStore } from "../store.js" */
/** @import { RunView } from "../view_state.js" */

const FIRST = "stability";

export class PanelsTab {
  /** @type {Preset[]} */
  layouts = [];
  /** @type {Preset | undefined} */
  chosen = undefined;
  /** @type {ReturnType<Panels["add"]> | undefined} */
  set = undefined;
  /** @type {RunStore | undefined} */
  store = undefined;
  /** @type {RunView | undefined} */
  view = undefined;
  /** @type {boolean} */
  opened = false;

  /** @param {Panels} panels */
  constructor(panels) {
    this.panels = panels;
    this.choices = byId("panel-choices");
    this.note = byId("panel-note");
    this.none = byId("panels-none");
    this.target = byId("charts-panels");
    byId("panel-edit").addEventListener("click", () => this.edit());
  }

  /** @param {boolean} on */
  async shown(on) {
    if (!on || this.opened) return;
    this.opened = true;
    const requested = new URL(location.href).searchParams;
    this.layouts = await savedLayouts();
    if (this.chosen) {
      this.offer();
      return;
    }
    const charts = fromText(requested.get("charts"));
    if (charts) {
      this.show({ key: "charts", title: "Layout of this address", charts });
      return;
    }
    const key = requested.get("panels") ?? FIRST;
    const found = this.panels.preset(key) ?? this.layouts.find((one) => one.key === key) ?? (await openLayout(key));
    this.show(found ?? this.panels.preset(FIRST));
  }

  /** @param {Preset | undefined} chosen */
  show(chosen) {
    if (!chosen) return;
    this.chosen = chosen;
    const next = new URL(location.href);
    next.searchParams.delete("charts");
    next.searchParams.delete("panels");
    if (chosen.key === "charts") next.searchParams.set("charts", toText(chosen.charts));
    else next.searchParams.set("panels", chosen.key);
    history.replaceState(null, "", next);
    this.view?.remember();
    this.note.textContent = chosen.answers ?? (chosen.owner && !chosen.mine ? `By ${chosen.owner}.` : "");
    this.offer();
    this.set = this.panels.add("panels", this.target, chosen.charts);
    this.panels.host.onNear();
  }

  offer() {
    const every = [...this.panels.presets, ...this.layouts];
    if (!every.some((one) => one.key === this.chosen?.key) && this.chosen) every.push(this.chosen);
    const buttons = every.map((one) => {
      const attributes = { class: "choice", type: "button", "data-panels": one.key };
      const pressed = String(one.key === this.chosen?.key);
      const made = element("button", { ...attributes, "aria-pressed": pressed }, one.title);
      made.addEventListener("click", () => {
        this.show(one);
        find(this.choices, "[aria-pressed=true]").focus();
      });
      return made;
    });
    this.choices.replaceChildren(...buttons);
  }

  async edit() {
    const { chosen, view } = this;
    if (!chosen || !view || !this.store) return;
    const names = [...this.store.keys].sort();
    const made = await editLayout(asShown(chosen, view), names);
    if (!made) return;
    if (made.removed) {
      this.layouts = await savedLayouts();
      this.show(this.panels.preset(FIRST));
      return;
    }
    made.charts.forEach((chart) => view.scales.delete(chart.names.join("+"))); // the layout has them now
    if (made.name) await this.save(made);
    else this.show({ key: "charts", title: "Not saved", charts: made.charts });
  }

  /** @param {Edited} edited */
  async save(edited) {
    const answer = await saveLayout(edited);
    if ("error" in answer) {
      toast(answer.error, { error: true });
      return;
    }
    this.layouts = await savedLayouts();
    this.show(answer);
    toast(`Saved as “${answer.title}”. The address of this page shows it to others.`);
  }

  /** @param {RunPage} runPage */
  async draw({ store, view }) {
    this.store = store;
    this.view = view;
    this.none.hidden = store.keys.size > 0;
    await this.set?.draw({ store, view });
  }
}

/**
 * The layout with the axes that the reader has changed meanwhile.
 * @param {Preset} layout
 * @param {RunView} view
 */
function asShown(layout, view) {
  const log = (/** @type {ChartChoice} */ chart) => view.scales.get(chart.names.join("+")) ?? chart.log ?? null;
  return { ...layout, charts: layout.charts.map((chart) => ({ ...chart, log: log(chart) })) };
}
