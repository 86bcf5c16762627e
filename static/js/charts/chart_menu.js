// The menu of one chart: a logarithmic axis, its full width, and the chart as a picture or as numbers.

import { csv, save } from "../core/downloads.js";
import { element } from "../core/dom.js";
import { toast } from "../core/toast.js";

const SCALE = 2; // pixels of a PNG for one of the page
const ALL = 20000; // steps of a CSV

export function chartMenu(chart) {
  const item = (words, act, attributes = {}) => {
    const made = element("button", { class: "menu-item", type: "button", ...attributes }, words);
    made.addEventListener("click", async () => {
      menu.open = false;
      menu.firstElementChild.focus();
      await act(made);
    });
    return made;
  };
  const wide = item("Enlarge", (made) => {
    made.textContent = chart.enlarge() ? "Make small" : "Enlarge";
  });
  const menu = element(
    "details",
    { class: "menu chart-menu" },
    element("summary", { class: "button button--quiet button--small", "aria-label": `Menu of ${chart.title}` }, "⋯"),
    element(
      "div",
      { class: "menu-body" },
      wide,
      item("PNG", () => picture(chart, "png")),
      item("SVG", () => picture(chart, "svg")),
      item("CSV", () => numbers(chart)),
    ),
  );
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !menu.open) return;
    menu.open = false;
    menu.firstElementChild.focus();
    event.stopPropagation();
  });
  return menu;
}

// The page's background and the chart's title go with it, and what its lines are where there are several.
async function picture(chart, format) {
  const { plot } = chart;
  const surface = chart.css("--surface");
  const data = chart.pictured?.() ?? withLegend(plot.data);
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
    save(chart.fileName(format), format === "svg" ? drawing(address) : address);
  } catch (error) {
    toast(`The picture could not be made: ${error.message}`, { error: true });
  }
}

function withLegend(traces) {
  const named = traces.filter((trace) => trace.name && trace.x.length);
  return traces.map((trace) => ({ ...trace, showlegend: named.length > 1 && named.includes(trace) }));
}

const drawing = (address) => new Blob([decodeURIComponent(address.split(",")[1])], { type: "image/svg+xml" });

// Plotly reads a few HTML tags in titles: a metric's name is none.
const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");

// Every step's real values, not what is drawn of them.
async function numbers(chart) {
  const rows = await (chart.table?.() ?? table(chart));
  if (!rows) return toast("The server did not answer. Try again.", { error: true });
  save(chart.fileName("csv"), new Blob([csv(rows)], { type: "text/csv" }));
}

async function table(chart) {
  const { names } = chart.spec;
  const values = await allValues(chart.valuesAddress, names);
  return values && withHeldOut([["step", "tokens", "training_seconds", "unix_time", ...names], ...values], chart);
}

/** Of every step its place and its values of `names`; null if the server did not answer. */
export async function allValues(address, names) {
  const query = `keys=${names.map(encodeURIComponent).join(",")}&points=${ALL}`;
  const answer = await fetch(`${address}?${query}`).catch(() => null);
  if (!answer?.ok) return null;
  const { steps, tokens, seconds, times, series } = await answer.json();
  return steps.map((step, i) => [step, tokens[i], seconds[i], times[i], ...names.map((name) => series[name][i])]);
}

// The same with the held-out points: columns of their own, and rows for steps that have nothing else.
function withHeldOut([head, ...rows], { spec, page }) {
  const tags = spec.heldOut ?? [];
  const found = tags.map((tag) => page.store.evaluations.filter((one) => one.environment === tag));
  const columns = tags.flatMap((tag) => ["", "/low", "/high"].map((end) => `eval/${tag}/success${end}`));
  const known = new Set(rows.map(([step]) => step));
  const alone = found.flat().filter(({ step }) => !known.has(step));
  const more = new Map(alone.map(({ step, time }) => [step, [step, null, null, time, ...spec.names.map(() => null)]]));
  const all = [...rows, ...more.values()].sort(([one], [other]) => one - other);
  const at = (step) =>
    found.flatMap((evaluations) => {
      const one = evaluations.find((other) => other.step === step);
      return [one?.success, one?.low, one?.high];
    });
  return [[...head, ...columns], ...all.map((row) => [...row, ...at(row[0])])];
}
