// A report: its charts are drawn with zoom and hover, and follow runs that have not ended.

import { drawCharts, windowsOf } from "./charts.js";
import { byId } from "../core/dom.js";

const EVERY = 15_000; // ms

/** @type {Node | null} */
let shown = null; // the report as the server wrote it

async function refresh() {
  const body = byId("report-body");
  if (document.hidden || body.dataset.live === undefined || body.contains(document.activeElement)) return;
  const answer = await fetch(location.href).catch(() => null);
  if (!answer?.ok || answer.redirected) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const next = page.getElementById("report-body");
  if (!next || (shown && next.isEqualNode(shown))) return;
  const windows = windowsOf(body);
  shown = next.cloneNode(true);
  body.replaceWith(document.adoptNode(next));
  drawCharts(next, windows);
}

function redraw() {
  const body = byId("report-body");
  drawCharts(body, windowsOf(body));
}

if (document.getElementById("report-body")) {
  shown = byId("report-body").cloneNode(true);
  redraw();
  setInterval(refresh, EVERY);
  new MutationObserver(redraw).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
}
