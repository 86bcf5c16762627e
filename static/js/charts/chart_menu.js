// The menu of one chart: its full width, and the chart as a picture or as numbers.

import { csv, save } from "../core/downloads.js";
import { element } from "../core/dom.js";
import { toast } from "../core/toast.js";
import { listed } from "./positions.js";

/** @import { ChartPage, ChartSpec, HeldOutResult, Plot, Trace } from "../types.js" */
/** @typedef {(string | number | null | undefined)[]} Row */

/**
 * @typedef {object} MenuChart what the menu needs of a chart
 * @property {string} title
 * @property {ChartSpec} spec
 * @property {Plot} plot
 * @property {ChartPage} [page]
 * @property {string} valuesAddress
 * @property {() => boolean} enlarge
 * @property {(name: string) => string} css
 * @property {(ending: string) => string} fileName
 * @property {() => Promise<Row[] | null>} [table] rows of its own instead of those of its metrics
 */

const SCALE = 2; // pixels of a PNG for one of the page
const ALL = 20000; // steps of a CSV

/** @param {MenuChart} chart */
export function chartMenu(chart) {
  const summary = { class: "button button--quiet button--small", "aria-label": `Menu of ${chart.title}` };
  const opener = element("summary", summary, "⋯");
  const menu = element("details", { class: "menu chart-menu" }, opener);
  const close = () => {
    menu.open = false;
    opener.focus();
  };
  /**
   * @param {string} words
   * @param {(button: HTMLElement) => void | Promise<void>} act
   */
  const item = (words, act) => {
    const made = element("button", { class: "menu-item", type: "button" }, words);
    made.addEventListener("click", async () => {
      close();
      await act(made);
    });
    return made;
  };
  const wide = item("Enlarge", (button) => {
    button.textContent = chart.enlarge() ? "Shrink" : "Enlarge";
  });
  const files = [
    item("PNG", () => savePicture(chart, "png")),
    item("SVG", () => savePicture(chart, "svg")),
    item("CSV", () => saveNumbers(chart)),
  ];
  menu.append(element("div", { class: "menu-body" }, wide, ...files));
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !menu.open) return;
    close();
    event.stopPropagation();
  });
  return menu;
}

/**
 * With the page's background, the chart's title, and a legend where there are several lines.
 * @param {MenuChart} chart
 * @param {"png" | "svg"} format
 */
async function savePicture(chart, format) {
  const { plot } = chart;
  const surface = chart.css("--surface");
  const data = withLegend(plot.data);
  const named = data.filter((trace) => trace.showlegend);
  const layout = {
    ...plot.layout,
    showlegend: named.length > 0,
    legend: { orientation: "h", x: 0, xanchor: "left", y: -0.12, yanchor: "top", bgcolor: "rgba(0,0,0,0)" },
    paper_bgcolor: surface,
    plot_bgcolor: surface,
    title: { text: escaped(chart.title), font: { size: 14, color: chart.css("--text") }, x: 0.02, y: 0.98 },
    margin: { ...plot.layout.margin, t: 36 },
  };
  const room = 30 + 20 * Math.ceil(named.length / 2);
  const size = { width: Math.max(480, plot.clientWidth), height: plot.clientHeight + room };
  try {
    const address = await globalThis.Plotly.toImage({ data, layout }, { format, ...size, scale: SCALE });
    save(chart.fileName(format), format === "svg" ? svgFile(address) : address);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    toast(`The picture could not be made: ${why}`, { error: true });
  }
}

/** @param {Trace[]} traces */
function withLegend(traces) {
  const named = traces.filter((trace) => trace.name && trace.x.length);
  return traces.map((trace) => ({ ...trace, showlegend: named.length > 1 && named.includes(trace) }));
}

/** @param {string} address */
const svgFile = (address) => new Blob([decodeURIComponent(address.split(",")[1])], { type: "image/svg+xml" });

/**
 * Plotly reads a few HTML tags in titles: a metric's name contains none.
 * @param {string} text
 */
const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");

/**
 * Every step's real values, not what is drawn of them.
 * @param {MenuChart} chart
 */
async function saveNumbers(chart) {
  const rows = await (chart.table ? chart.table() : tableOf(chart));
  if (rows) save(chart.fileName("csv"), new Blob([csv(rows)], { type: "text/csv" }));
  else toast("The server did not answer. Try again.", { error: true });
}

/** @param {MenuChart} chart */
async function tableOf(chart) {
  const { names } = chart.spec;
  const values = await allValues(chart.valuesAddress, names);
  return values && withHeldOut([["step", "tokens", "training_seconds", "unix_time", ...names], ...values], chart);
}

/**
 * A row for each step: its positions and its values of `names`; null if the server did not answer.
 * @param {string} address
 * @param {string[]} names
 * @returns {Promise<Row[] | null>}
 */
export async function allValues(address, names) {
  const answer = await fetch(`${address}?keys=${listed(names)}&points=${ALL}`).catch(() => null);
  if (!answer?.ok) return null;
  /** @type {{ steps: number[], tokens: number[], seconds: number[], times: number[], series: Record<string, Row> }} */
  const { steps, tokens, seconds, times, series } = await answer.json();
  return steps.map((step, i) => [step, tokens[i], seconds[i], times[i], ...names.map((name) => series[name][i])]);
}

/**
 * The same with the held-out points: columns of their own, and rows for steps that have nothing else.
 * @param {Row[]} table
 * @param {Pick<MenuChart, "spec" | "page">} chart
 */
function withHeldOut([head, ...rows], { spec, page }) {
  const tags = spec.heldOut ?? [];
  const { evaluations = [], requestedEvaluations = [] } = page?.store ?? {};
  const sources = requestedEvaluations.length
    ? [
        { of: "", results: evaluations },
        { of: "/requested", results: requestedEvaluations },
      ]
    : [{ of: "", results: evaluations }];
  const columns = tags.flatMap((tag) =>
    sources.flatMap(({ of }) => ["", "/low", "/high"].map((end) => `eval/${tag}/success${of}${end}`)),
  );
  /** @type {HeldOutResult[][]} */
  const found = tags.flatMap((tag) => sources.map(({ results }) => results.filter((one) => one.environment === tag)));
  const known = new Set(rows.map(([step]) => step));
  const alone = found.flat().filter(({ step }) => !known.has(step));
  /** @type {Map<number, Row>} */
  const more = new Map(alone.map(({ step, time }) => [step, [step, null, null, time, ...spec.names.map(() => null)]]));
  const all = [...rows, ...more.values()].sort(([one], [other]) => Number(one) - Number(other));
  /** @param {Row[0]} step */
  const at = (step) =>
    found.flatMap((results) => {
      const one = results.find((other) => other.step === step);
      return [one?.success, one?.low, one?.high];
    });
  return [[...head, ...columns], ...all.map((row) => [...row, ...at(row[0])])];
}
