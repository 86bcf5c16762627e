// The guide's charts: one with a curve, held-out points and an alert, one that is empty; and its metric labels.

import { Chart } from "./charts.js";
import { explainAll } from "./glossary.js";
import { RunStore } from "./run_store.js";

const store = new RunStore();
const steps = Array.from({ length: 60 }, (_, index) => index + 1);
store.add(
  steps.map((step) => ({
    kind: "step_completed",
    seq: step,
    step,
    tokens: step * 1000,
    seconds: step * 3,
    time: step * 3,
    metrics: { "rollout/success": 0.2 + 0.005 * step + 0.06 * Math.sin(step) },
  })),
);
store.add(
  [10, 30, 50].map((step, index) => ({
    kind: "evaluation_completed",
    seq: 100 + index,
    step,
    time: step * 3,
    environment: "FrozenLake",
    success: 0.2 + 0.005 * step,
    low: 0.15 + 0.005 * step,
    high: 0.26 + 0.005 * step,
  })),
);
store.add([
  {
    kind: "alert_raised",
    seq: 200,
    step: 40,
    severity: "warn",
    rule: "entropy",
    metric: "policy/entropy",
    message: "Entropy falls.",
  },
]);

const view = { axis: "step", smoothing: 0.6, revision: 0 };
const charts = [...document.querySelectorAll("[data-guide-charts]")].flatMap((place) => {
  const made = [
    new Chart({ title: "Success", names: ["rollout/success"], range: [0, 1.02], heldOut: ["FrozenLake"] }, () => {}),
    new Chart(
      { title: "Explained variance", names: ["value/explained_variance"], whyEmpty: "This run has no critic." },
      () => {},
    ),
  ];
  place.append(...made.map((chart) => chart.panel));
  return made;
});
await Promise.all(charts.map((chart) => chart.draw(store, view)));
explainAll();
