// The dialog in which a reader puts together charts: which metrics, over one another, in which order.

import { element } from "../core/dom.js";
import { describe } from "../core/glossary.js";
import { drop } from "./layouts.js";

const MOST_OVERLAID = 8;

/**
 * Edits a copy of `layout`; `names` are the metrics of the run. Gives `{key, mine, name, charts}` with an empty name
 * when it is to be used without keeping it, `{removed: true}`, or null when nothing is to change.
 */
export function editLayout(layout, names) {
  const dialog = document.getElementById("layout-dialog");
  const editor = new Editor(dialog, layout, names);
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(editor.result()), { once: true });
  });
}

class Editor {
  constructor(dialog, layout, names) {
    this.dialog = dialog;
    this.layout = layout;
    this.names = names;
    this.charts = expanded(layout.charts, names);
    this.list = dialog.querySelector("[data-charts]");
    this.name = dialog.querySelector("[name=layout-name]");
    this.name.value = layout.mine ? layout.title : "";
    this.removed = false;
    dialog.returnValue = "";
    dialog.querySelector("[value=delete]").hidden = !layout.mine;
    dialog.querySelector("datalist").replaceChildren(...names.map((name) => element("option", { value: name })));
    const add = dialog.querySelector("[data-add]");
    add.value = "";
    add.onchange = () => {
      if (this.isMetric(add.value)) this.change(() => this.charts.push({ title: "", names: [add.value] }));
      add.value = "";
    };
    dialog.querySelector("[value=delete]").onclick = async () => {
      await drop(layout.key);
      this.removed = true;
      dialog.close("delete");
    };
    this.show();
  }

  isMetric(name) {
    return this.names.includes(name);
  }

  change(act) {
    act();
    this.show();
  }

  show() {
    this.list.replaceChildren(...this.charts.map((chart, place) => this.row(chart, place)));
  }

  row(chart, place) {
    const metrics = chart.names.map((name) =>
      element(
        "span",
        { class: "layout-metric" },
        describe(name).title,
        this.button("✕", `Leave out ${name}`, () => this.leaveOut(chart, name)),
      ),
    );
    const words = `Lay another metric over chart ${place + 1}`;
    const over = element("input", { list: "layout-names", placeholder: "lay over …", "aria-label": words });
    over.disabled = chart.names.length >= MOST_OVERLAID;
    over.addEventListener("change", () => {
      const name = over.value;
      if (this.isMetric(name) && !chart.names.includes(name)) this.change(() => chart.names.push(name));
    });
    const logged = chart.log ?? usual(chart);
    const log = this.button("log", `Logarithmic axis of chart ${place + 1}`, () => (chart.log = !logged));
    log.setAttribute("aria-pressed", String(logged));
    return element(
      "li",
      {},
      element("span", { class: "layout-metrics" }, ...metrics, over),
      log,
      this.button("↑", `Move chart ${place + 1} up`, () => this.move(place, -1), place === 0),
      this.button("↓", `Move chart ${place + 1} down`, () => this.move(place, 1), place === this.charts.length - 1),
    );
  }

  button(sign, words, act, disabled = false) {
    const attributes = { class: "button button--quiet button--small", type: "button", title: words, disabled };
    const made = element("button", { ...attributes, "aria-label": words }, sign);
    made.addEventListener("click", () => this.change(act));
    return made;
  }

  leaveOut(chart, name) {
    chart.names = chart.names.filter((one) => one !== name);
    this.charts = this.charts.filter((one) => one.names.length);
  }

  move(place, by) {
    const [chart] = this.charts.splice(place, 1);
    this.charts.splice(place + by, 0, chart);
  }

  result() {
    if (this.removed) return { removed: true };
    const said = this.dialog.returnValue;
    if (!["keep", "use"].includes(said) || !this.charts.length) return null;
    const { key, mine } = this.layout;
    return { key, mine, name: said === "keep" ? this.name.value.trim() || "My layout" : "", charts: this.charts };
  }
}

// as the metrics of a chart have it
const usual = ({ names }) => names.every((name) => Boolean(describe(name).log));

// A copy in which patterns are the metrics they stand for.
function expanded(charts, names) {
  const claimed = new Set(charts.flatMap((chart) => chart.names));
  return charts.flatMap((chart) => {
    if (!chart.names[0].endsWith("*")) {
      const there = chart.names.filter((name) => names.includes(name));
      return there.length ? [{ title: "", names: there, log: chart.log ?? null }] : [];
    }
    const fitting = names.filter((name) => name.startsWith(chart.names[0].slice(0, -1)) && !claimed.has(name));
    return fitting.map((name) => ({ title: "", names: [name] }));
  });
}
