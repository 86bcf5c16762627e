// The menu of one chart: a logarithmic axis, its full width, and the chart as a picture or as numbers.

import { csv, save } from "./downloads.js";
import { element } from "./dom.js";
import { toast } from "./toast.js";

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

// The page's background and the chart's title go with it.
async function picture(chart, format) {
  const { plot } = chart;
  const surface = chart.css("--surface");
  const layout = {
    ...plot.layout,
    paper_bgcolor: surface,
    plot_bgcolor: surface,
    title: { text: escaped(chart.title), font: { size: 14, color: chart.css("--text") }, x: 0.02, y: 0.98 },
    margin: { ...plot.layout.margin, t: 36 },
  };
  const size = { width: Math.max(480, plot.clientWidth), height: plot.clientHeight + 30 };
  try {
    const address = await globalThis.Plotly.toImage({ data: plot.data, layout }, { format, ...size, scale: SCALE });
    save(chart.fileName(format), format === "svg" ? drawing(address) : address);
  } catch (error) {
    toast(`The picture could not be made: ${error.message}`, { error: true });
  }
}

const drawing = (address) => new Blob([decodeURIComponent(address.split(",")[1])], { type: "image/svg+xml" });

// Plotly reads a few HTML tags in titles: a metric's name is none.
const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");

// Every step's real values, not what is drawn of them.
async function numbers(chart) {
  const names = chart.spec.names;
  const query = `keys=${names.map(encodeURIComponent).join(",")}&points=${ALL}`;
  const answer = await fetch(`${chart.valuesAddress}?${query}`).catch(() => null);
  if (!answer?.ok) return toast("The server did not answer. Try again.", { error: true });
  const { steps, tokens, seconds, times, series } = await answer.json();
  const rows = steps.map((step, i) => [step, tokens[i], seconds[i], times[i], ...names.map((name) => series[name][i])]);
  const text = csv([["step", "tokens", "training_seconds", "unix_time", ...names], ...rows]);
  save(chart.fileName("csv"), new Blob([text], { type: "text/csv" }));
}
