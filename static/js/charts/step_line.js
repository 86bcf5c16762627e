// A vertical line at one step over Plotly's charts, as an element above them.

import { at } from "./positions.js";
import { element, findAll } from "../core/dom.js";

/** @import { ChartCurves, Plot, View } from "../types.js" */

/** @type {WeakSet<Plot>} */
const watched = new WeakSet();

/**
 * `coordinate()` is where the step is on the charts' axis, null where it is not on it
 * @param {HTMLElement} root
 * @param {NonNullable<Plot["markPosition"]>} coordinate
 */
export function markCharts(root, coordinate) {
  for (const plot of /** @type {Plot[]} */ (findAll(root, ".chart-plot"))) {
    plot.markPosition = coordinate;
    if (!watched.has(plot) && plot.on) {
      watched.add(plot);
      plot.on("plotly_afterplot", () => placeLine(plot)); // after a zoom too
    }
    placeLine(plot);
  }
}

/**
 * Where a step is on the axis that the page has chosen; null without a step, or beyond the run's.
 * @param {{ curves: Pick<ChartCurves, "position"> }} store
 * @param {Pick<View, "axis">} view
 * @param {number | null} step
 */
export function coordinateOf(store, view, step) {
  const position = step === null ? null : store.curves.position(step);
  return position && at(position, view.axis);
}

/** @param {Plot} plot */
function lineOf(plot) {
  const [there] = findAll(plot, ":scope > .scrub-line");
  if (there) return there;
  const line = element("span", { class: "scrub-line", "aria-hidden": "true" });
  plot.append(line);
  return line;
}

/** @param {Plot} plot */
function placeLine(plot) {
  const axis = plot._fullLayout?.xaxis;
  const size = plot._fullLayout?._size;
  if (!axis || !size) return;
  const line = lineOf(plot);
  const x = plot.markPosition?.();
  const offset = x === null || x === undefined ? NaN : axis.d2p(x);
  line.hidden = !(offset >= 0 && offset <= size.w);
  if (line.hidden) return;
  line.style.left = `${size.l + offset}px`;
  line.style.top = `${size.t}px`;
  line.style.height = `${size.h}px`;
}
