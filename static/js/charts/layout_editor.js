// The dialog in which a reader composes charts: which metrics, overlaid or separate, in which order.

import { byId, element, find } from "../core/dom.js";
import { describe } from "../core/glossary.js";
import { withoutPatterns } from "./chart_patterns.js";
import { deleteLayout } from "./layouts.js";

/** @import { ChartChoice, Preset } from "../types.js" */

const MOST_OVERLAID = 8;

/** @typedef {{ removed: true }} Removed */
/** @typedef {{ removed?: undefined, key: string, mine?: boolean, name: string, charts: ChartChoice[] }} Edited */

/**
 * Edits a copy of `layout`. Returns the layout, with an empty name where it is to be used without saving it; null when
 * nothing is to change.
 * @param {Preset} layout
 * @param {string[]} names metrics of the run
 * @returns {Promise<Edited | Removed | null>}
 */
export function editLayout(layout, names) {
  const dialog = byId("layout-dialog", HTMLDialogElement);
  const editor = new Editor(dialog, layout, names);
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(editor.result()), { once: true });
  });
}

class Editor {
  /**
   * @param {HTMLDialogElement} dialog
   * @param {Preset} layout
   * @param {string[]} names
   */
  constructor(dialog, layout, names) {
    this.dialog = dialog;
    this.layout = layout;
    this.names = names;
    this.charts = expanded(layout.charts, names);
    this.list = find(dialog, "[data-charts]");
    this.name = find(dialog, "[name=layout-name]", HTMLInputElement);
    this.name.value = layout.mine ? layout.title : "";
    this.removed = false;
    dialog.returnValue = "";
    const remove = find(dialog, "[value=delete]");
    remove.hidden = !layout.mine;
    find(dialog, "datalist").replaceChildren(...names.map((name) => element("option", { value: name })));
    const add = find(dialog, "[data-add]", HTMLInputElement);
    add.value = "";
    add.onchange = () => this.add(add);
    add.onkeydown = onEnter(() => this.add(add));
    remove.onclick = async () => {
      await deleteLayout(layout.key);
      this.removed = true;
      dialog.close("delete");
    };
    this.show();
  }

  /**
   * A chart of the metric in `field`, which is emptied; another name stays, to be corrected.
   * @param {HTMLInputElement} field
   */
  add(field) {
    const name = field.value.trim();
    if (!this.isMetric(name)) return;
    this.change(() => this.charts.push({ title: "", names: [name] }));
    field.value = "";
  }

  /**
   * @param {ChartChoice} chart
   * @param {string} name
   */
  overlay(chart, name) {
    if (this.isMetric(name) && !chart.names.includes(name)) this.change(() => chart.names.push(name));
  }

  /** @param {string} name */
  isMetric(name) {
    return this.names.includes(name);
  }

  /** @param {() => void} act */
  change(act) {
    act();
    this.show();
  }

  show() {
    this.list.replaceChildren(...this.charts.map((chart, index) => this.row(chart, index)));
  }

  /**
   * @param {ChartChoice} chart
   * @param {number} index
   */
  row(chart, index) {
    const metrics = chart.names.map((name) =>
      element(
        "span",
        { class: "layout-metric" },
        describe(name).title,
        this.button("✕", `Leave out ${name}`, () => this.leaveOut(chart, name)),
      ),
    );
    const words = `Overlay another metric on chart ${index + 1}`;
    const over = element("input", { list: "layout-names", placeholder: "overlay …", "aria-label": words });
    over.disabled = chart.names.length >= MOST_OVERLAID;
    over.addEventListener("change", () => this.overlay(chart, over.value.trim()));
    over.addEventListener(
      "keydown",
      onEnter(() => this.overlay(chart, over.value.trim())),
    );
    const logged = chart.log ?? usual(chart);
    const log = this.button("log", `Logarithmic axis of chart ${index + 1}`, () => {
      chart.log = !logged;
    });
    log.setAttribute("aria-pressed", String(logged));
    return element(
      "li",
      {},
      element("span", { class: "layout-metrics" }, ...metrics, over),
      log,
      this.button("↑", `Move chart ${index + 1} up`, () => this.move(index, -1), index === 0),
      this.button("↓", `Move chart ${index + 1} down`, () => this.move(index, 1), index === this.charts.length - 1),
    );
  }

  /**
   * @param {string} sign
   * @param {string} words
   * @param {() => void} act
   */
  button(sign, words, act, disabled = false) {
    const attributes = { class: "button button--quiet button--small", type: "button", title: words, disabled };
    const made = element("button", { ...attributes, "aria-label": words }, sign);
    made.addEventListener("click", () => this.change(act));
    return made;
  }

  /**
   * @param {ChartChoice} chart
   * @param {string} name
   */
  leaveOut(chart, name) {
    chart.names = chart.names.filter((one) => one !== name);
    this.charts = this.charts.filter((one) => one.names.length);
  }

  /**
   * @param {number} index
   * @param {number} by
   */
  move(index, by) {
    const [chart] = this.charts.splice(index, 1);
    this.charts.splice(index + by, 0, chart);
  }

  /** @returns {Edited | Removed | null} */
  result() {
    if (this.removed) return { removed: true };
    const action = this.dialog.returnValue;
    if (!["keep", "use"].includes(action) || !this.charts.length) return null;
    const { key, mine } = this.layout;
    return { key, mine, name: action === "keep" ? this.name.value.trim() || "My layout" : "", charts: this.charts };
  }
}

/**
 * A listener for a field in the dialog's form: Enter acts on the field instead of saving the layout.
 * @param {() => void} act
 */
const onEnter = (act) => (/** @type {KeyboardEvent} */ event) => {
  if (event.key !== "Enter") return;
  event.preventDefault();
  act();
};

/**
 * as the metrics of a chart have it
 * @param {ChartChoice} chartChoice
 */
const usual = ({ names }) => names.every((name) => Boolean(describe(name).log));

/**
 * A copy in which patterns are the metrics they stand for.
 * @param {ChartChoice[]} charts
 * @param {string[]} names
 * @returns {ChartChoice[]}
 */
function expanded(charts, names) {
  return withoutPatterns(charts, names).flatMap((chart) => {
    const known = chart.names.filter((name) => names.includes(name));
    return known.length ? [{ title: "", names: known, log: chart.log ?? null }] : [];
  });
}
