// Values on a logarithmic axis. It has no place for zeros and negative values: Plotly would draw a line that falls to
// the bottom. They are gaps, and are counted.

/** @import { Trace } from "../types.js" */

/** @param {number} value */
export const onLogAxis = (value) => (value > 0 ? value : NaN);

/**
 * The traces with gaps, and how many values of their lines these are. A value between two gaps is a dot.
 * @param {Trace[]} traces
 * @returns {{ traces: Trace[], left: number }}
 */
export function withGaps(traces) {
  let left = 0;
  const drawn = traces.flatMap((trace) => {
    const y = trace.y.map(onLogAxis);
    const gaps = y.filter(Number.isNaN).length;
    if (!gaps) return [trace];
    const made = { ...trace, y };
    if (trace.hoverinfo === "skip") return [made]; // the same values as those of its line
    left += gaps;
    return trace.mode === "lines" ? [...dots(made), made] : [made];
  });
  return { traces: drawn, left };
}

/**
 * @param {Trace} trace
 * @returns {Trace[]}
 */
function dots({ x, y, line }) {
  const isGap = (/** @type {number} */ i) => !(y[i] > 0); // also beyond the ends
  const alone = y.flatMap((_, i) => (!isGap(i) && isGap(i - 1) && isGap(i + 1) ? [i] : []));
  if (!alone.length) return [];
  const { color } = /** @type {{ color: string }} */ (line);
  const [xs, ys] = [alone.map((i) => x[i]), alone.map((i) => y[i])];
  return [{ x: xs, y: ys, mode: "markers", marker: { size: 4, color }, showlegend: false, hoverinfo: "skip" }];
}
