// Charts by choice: the presets, and the reader's own layouts. What is chosen is in the address: `panels=<preset or
// layout>`, or `charts=<the layout itself>` while it is not kept.

import { element } from "../../core/dom.js";
import { editLayout } from "../../charts/layout_editor.js";
import { kept, keep, open, fromText, toText } from "../../charts/layouts.js";
import { toast } from "../../core/toast.js";

const FIRST = "stability";

export class PanelsTab {
  constructor(panels) {
    this.panels = panels;
    this.choices = document.getElementById("panel-choices");
    this.words = document.getElementById("panel-words");
    this.none = document.getElementById("panels-none");
    this.target = document.getElementById("charts-panels");
    this.layouts = [];
    document.getElementById("panel-edit").addEventListener("click", () => this.edit());
    this.set = null;
    this.chosen = null;
  }

  async shown(on) {
    if (!on || this.opened) return;
    this.opened = true;
    const asked = new URL(location.href).searchParams;
    this.layouts = await kept();
    if (this.chosen) return this.offer();
    const charts = fromText(asked.get("charts"));
    if (charts) return this.show({ key: "charts", title: "Layout of this address", charts });
    const key = asked.get("panels") ?? FIRST;
    const found = this.panels.preset(key) ?? this.layouts.find((one) => one.key === key) ?? (await open(key));
    this.show(found ?? this.panels.preset(FIRST));
  }

  // a preset by its name, for addresses of before
  choose(key) {
    this.show(this.panels.preset(key));
  }

  show(chosen) {
    this.chosen = chosen;
    const next = new URL(location.href);
    next.searchParams.delete("charts");
    next.searchParams.delete("panels");
    if (chosen.key === "charts") next.searchParams.set("charts", toText(chosen.charts));
    else next.searchParams.set("panels", chosen.key);
    history.replaceState(null, "", next);
    this.view?.remember();
    this.words.textContent = chosen.answers ?? (chosen.owner && !chosen.mine ? `By ${chosen.owner}.` : "");
    this.offer();
    this.set = this.panels.add("panels", this.target, chosen.charts);
    this.panels.host.onNear();
  }

  offer() {
    const every = [...this.panels.presets, ...this.layouts];
    if (!every.some((one) => one.key === this.chosen.key)) every.push(this.chosen);
    const buttons = every.map((one) => {
      const attributes = { class: "choice", type: "button", "data-panels": one.key };
      const pressed = String(one.key === this.chosen.key);
      const made = element("button", { ...attributes, "aria-pressed": pressed }, one.title);
      made.addEventListener("click", () => {
        this.show(one);
        this.choices.querySelector("[aria-pressed=true]").focus();
      });
      return made;
    });
    this.choices.replaceChildren(...buttons);
  }

  async edit() {
    if (!this.chosen || !this.store) return;
    const names = [...this.store.keys].sort();
    const made = await editLayout(this.asShown(), names);
    if (!made) return;
    made.charts?.forEach((chart) => this.view.scales.delete(chart.names.join("+"))); // the layout has them now
    if (made.removed) {
      this.layouts = await kept();
      return this.show(this.panels.preset(FIRST));
    }
    if (!made.name) return this.show({ key: "charts", title: "Not kept", charts: made.charts });
    const answer = await keep(made);
    if (answer.error) return toast(answer.error, { error: true });
    this.layouts = await kept();
    this.show(answer);
    toast(`Kept as “${answer.title}”. The address of this page shows it to others.`);
  }

  // The chosen layout with the axes that the reader has turned meanwhile.
  asShown() {
    const turned = (chart) => this.view.scales.get(chart.names.join("+")) ?? chart.log ?? null;
    return { ...this.chosen, charts: this.chosen.charts.map((chart) => ({ ...chart, log: turned(chart) })) };
  }

  async draw({ store, view }) {
    Object.assign(this, { store, view });
    this.none.hidden = store.keys.size > 0;
    await this.set?.draw({ store, view });
  }
}
