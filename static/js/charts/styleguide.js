// The guide's charts: one with a curve, held-out points and an alert, one that is empty; and its metric labels.

import { Chart } from "./chart.js";
import { Curves } from "./curves.js";
import { findAll } from "../core/dom.js";
import { explainAll } from "../core/glossary.js";
import { RunStore } from "../run/store.js";

/** @import { Band, View } from "../types.js" */

const STEPS = Array.from({ length: 60 }, (_, index) => index + 1);
const SUCCESS = "rollout/success";
const curves = new Curves("", STEPS.length, () => {});
const store = new RunStore(curves);
/** @type {Band} */
const band = { mean: STEPS.map((step) => 0.2 + 0.005 * step + 0.06 * Math.sin(step)), low: [], high: [] };
const seconds = STEPS.map((step) => 3 * step);
curves.fill([SUCCESS, "value/explained_variance"], {
  steps: STEPS,
  tokens: STEPS.map((step) => 1000 * step),
  seconds,
  times: seconds,
  elapsed: seconds,
  attempts: STEPS.map(() => 1),
  thinned: false,
  spans: [[1, STEPS.length, 1]],
  series: { [SUCCESS]: band, "value/explained_variance": { ...band, mean: STEPS.map(() => null) } },
});
store.add(
  [10, 30, 50].map((step, index) => ({
    kind: "evaluation_completed",
    seq: 100 + index,
    step,
    time: 3 * step,
    environment: "FrozenLake",
    success: 0.2 + 0.005 * step,
    low: 0.15 + 0.005 * step,
    high: 0.26 + 0.005 * step,
    episodes: 128,
  })),
);
store.add([
  {
    kind: "alert_raised",
    seq: 200,
    step: 40,
    severity: "warn",
    rule: "entropy",
    time: 120,
    metric: "policy/entropy",
    message: "Entropy falls.",
  },
  {
    kind: "settings_changed",
    seq: 201,
    time: 75,
    step: 25,
    revision: 1,
    changes: { "optimizer.learning_rate": { old: 0.0002, new: 0.0001 } },
  },
]);
store.requestedBy = { 1: "ada" };

/** @type {View} */
const view = {
  axis: "step",
  smoothing: 0.6,
  outliers: false,
  window: null,
  revision: 0,
  zooms: 0,
  theme: 0,
  step: null,
  scales: new Map(),
  turnLog: (chart, on) => view.scales.set(chart, on),
  range: () => [],
};
const host = {
  onPoint() {},
  onZoom() {},
  onReset() {},
  onHover() {},
  onAlert() {},
  valuesAddress: "",
  fileStem: "guide",
};
const charts = findAll(document, "[data-guide-charts]").flatMap((container) => {
  const made = [
    new Chart({ title: "Success", names: ["rollout/success"], range: [0, 1.02], heldOut: ["FrozenLake"] }, host),
    new Chart(
      { title: "Explained variance", names: ["value/explained_variance"], whyEmpty: "This run has no critic." },
      host,
    ),
  ];
  container.append(...made.map((chart) => chart.panel));
  return made;
});
await Promise.all(charts.map((chart) => chart.draw({ store, view })));
explainAll();
