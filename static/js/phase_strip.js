// Where each of the last steps spent its time, as stacked bars; the tallest fills the strip.

import { element, svg } from "./dom.js";
import { duration, number } from "./format.js";

// in the order that a step has them; all are metrics `time/<phase>` of the glossary
const PHASES = [
  "rollout",
  "score",
  "diagnostics",
  "gradients",
  "update",
  "sync",
  "capture",
  "evaluation",
  "checkpoint",
];
const SHOWN = 48;

export function drawPhases(target, key, steps) {
  const recent = steps.slice(-SHOWN);
  const tallest = Math.max(0.001, ...recent.map((one) => total(one.metrics)));
  const width = 100 / SHOWN;
  const bars = recent.flatMap((one, index) => {
    let top = 100;
    return PHASES.map((phase) => {
      const height = (95 * (one.metrics[`time/${phase}`] ?? 0)) / tallest;
      top -= height;
      return svg(
        "rect",
        {
          class: `phase-${phase}`,
          x: (index * width).toFixed(2),
          y: top.toFixed(2),
          width: (width * 0.8).toFixed(2),
          height: height.toFixed(2),
        },
        svg(
          "title",
          {},
          document.createTextNode(`step ${one.step}, ${phase}: ${number(one.metrics[`time/${phase}`] ?? 0)} s`),
        ),
      );
    });
  });
  target.replaceChildren(
    svg(
      "svg",
      {
        viewBox: "0 0 100 100",
        preserveAspectRatio: "none",
        role: "img",
        "aria-label": "Time of each phase in the last steps",
      },
      ...bars,
    ),
  );
  const newest = recent.at(-1)?.metrics ?? {};
  key.replaceChildren(
    ...PHASES.filter((phase) => recent.some((one) => one.metrics[`time/${phase}`])).map((phase) =>
      element(
        "li",
        {},
        svg("svg", { viewBox: "0 0 10 10" }, svg("rect", { class: `phase-${phase}`, width: 10, height: 10, rx: 2 })),
        `${phase} ${newest[`time/${phase}`] === undefined ? "–" : `${number(newest[`time/${phase}`], 2)} s`}`,
      ),
    ),
    ...(recent.length ? [element("li", {}, `step ${duration(newest["time/step"])}`)] : []),
  );
}

function total(metrics) {
  return PHASES.reduce((sum, phase) => sum + (metrics[`time/${phase}`] ?? 0), 0);
}
