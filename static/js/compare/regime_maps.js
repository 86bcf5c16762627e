// The regime maps of several runs, side by side: each is requested once it comes into view.

import { find, findAll } from "../core/dom.js";
import { getJson } from "../core/requests.js";
import { RegimeMap, widestOf } from "../run/regime_map.js";
import { describeRegime, readings, RegimesOfRun, regimeTexts } from "../run/regimes.js";

/** @typedef {{ steps: number[], series: Record<string, (number | null)[]> }} MetricColumns */

const MOST = 20_000; // steps, as many as the API sends
/** @import { MapContent } from "../run/regime_map.js" */

/** @type {{ map: RegimeMap, content: MapContent }[]} */
const drawn = [];
const METRICS = ["collapse/conditional_entropy", "collapse/mi_ratio", "collapse/valid_thought_rate"];

export function prepareRegimeMaps() {
  const figures = findAll(document, "[data-regimes-of]");
  const watch = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (!isIntersecting || !(target instanceof HTMLElement)) continue;
      watch.unobserve(target);
      draw(target);
    }
  });
  figures.forEach((figure) => watch.observe(figure));
  const [more] = findAll(document, "#all-regimes");
  more?.addEventListener("click", () => {
    figures.forEach((figure) => figure.removeAttribute("hidden"));
    more.remove();
  });
}

/** @param {HTMLElement} figure */
async function draw(figure) {
  const run = figure.dataset.regimesOf ?? "";
  const words = find(figure, "[data-words]");
  /** @type {MetricColumns | null} */
  const columns = await getJson(`/api/v1/runs/${run}/metrics?keys=${METRICS.join(",")}&points=${MOST}`);
  const regimes = await new RegimesOfRun(run).find("thought", "once");
  const steps = stepsOf(columns);
  const found = regimes ? readings(steps, "thought", regimes) : [];
  if (!regimes?.borders || !found.length) {
    words.textContent =
      columns && regimes ? "Too few readings for a map yet." : "The server did not answer. Reload the page.";
    return;
  }
  const map = new RegimeMap((step) => location.assign(`/runs/${run}/?step=${step}#collapse`));
  find(figure, "[data-map]").append(map.root);
  const now = found[found.length - 1];
  drawn.push({ map, content: { found, borders: regimes.borders, step: now.step, unit: "nats per thought" } });
  drawAlike();
  words.textContent = describeRegime(found, now, regimeTexts());
}

/** All maps with the axis of the widest, so that they can be compared by eye. */
function drawAlike() {
  const widest = Math.max(...drawn.map(({ content }) => widestOf(content)));
  for (const { map, content } of drawn) {
    if (map.extent.widest !== widest || !map.shown) map.draw({ ...content, widest });
  }
}

/**
 * Rows of the steps that have diagnostics.
 * @param {MetricColumns | null} columns
 */
export function stepsOf(columns) {
  if (!columns) return [];
  return columns.steps.flatMap((step, i) => {
    const values = Object.entries(columns.series).flatMap(([name, column]) => {
      const value = column[i];
      return value === null ? [] : [/** @type {[string, number]} */ ([name, value])];
    });
    return values.length === METRICS.length ? [{ step, metrics: Object.fromEntries(values) }] : [];
  });
}
