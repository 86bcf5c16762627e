// A vertical line at one step over charts that draw themselves: it lies above them and changes nothing of theirs.

import { at } from "./curves.js";
import { element } from "../core/dom.js";

const watched = new WeakSet();

// `place(step)` is where a step lies on the charts' axis, null where it has no place
export function markCharts(root, place) {
  for (const plot of root.querySelectorAll(".chart-plot")) {
    plot.markPlace = place;
    if (!watched.has(plot) && plot.on) {
      watched.add(plot);
      plot.on("plotly_afterplot", () => putLine(plot)); // after a zoom too
    }
    putLine(plot);
  }
}

// Where a step lies on the axis that the page has chosen; null without a step, or beyond the run's.
export function placeOn(store, view, step) {
  const place = step === null ? null : store.curves.place(step);
  return place && at(place, view.axis);
}

function putLine(plot) {
  const axis = plot._fullLayout?.xaxis;
  const size = plot._fullLayout?._size;
  let line = plot.querySelector(":scope > .scrub-line");
  if (!axis || !size) return;
  if (!line) {
    line = element("span", { class: "scrub-line", "aria-hidden": "true" });
    plot.append(line);
  }
  const x = plot.markPlace?.();
  const at = x === null || x === undefined ? NaN : axis.d2p(x);
  line.hidden = !(at >= 0 && at <= size.w);
  if (line.hidden) return;
  line.style.left = `${size.l + at}px`;
  line.style.top = `${size.t}px`;
  line.style.height = `${size.h}px`;
}
