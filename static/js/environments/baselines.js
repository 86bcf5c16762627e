// Scripted players: success as bars on a common scale of 0 to 100%.

import { element, svg } from "../core/dom.js";
import { visibleString } from "../core/visible_text.js";

/** @import { Baseline } from "../types.js" */

/** @param {Baseline[]} baselines */
export function baselineBars(baselines) {
  const rows = baselines.flatMap(({ player, success, episodes, mean_return: mean }) => [
    element("dt", {}, visibleString(player)),
    element(
      "dd",
      { title: `${episodes} episodes, mean return ${mean.toFixed(2)}` },
      svg(
        "svg",
        { class: "baseline-bar", viewBox: "0 0 100 8", preserveAspectRatio: "none", "aria-hidden": "true" },
        svg("rect", { width: 100 * success, height: 8 }),
      ),
      element("span", { class: "num" }, `${Math.round(100 * success)}%`),
    ),
  ]);
  return element("dl", { class: "baselines" }, ...rows);
}
