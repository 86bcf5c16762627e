// The page of a leaderboard: draws the chart that it has, again when the theme changes.

import { byId, jsonOf } from "../core/dom.js";
import { drawCostChart } from "./cost_chart.js";

/** @import { CostChart } from "./cost_chart.js" */

if (document.getElementById("cost-chart")) {
  const host = byId("cost-chart");
  /** @type {CostChart} */
  const chart = jsonOf("cost-chart-data");
  const draw = () => drawCostChart(host, chart);
  draw();
  new MutationObserver(draw).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
}
