// A mark at a step of a chart: a line, and near its foot a sign with a text on hover.

/** @import { MarkSource, Marks } from "../types.js" */

/**
 * @param {number | Date} x on the chart's axis
 * @param {object} options
 * @param {string} options.color
 * @param {string} options.dash of the line
 * @param {string} options.sign
 * @param {number} options.above pixels between the foot and the sign
 * @param {string} options.hovertext
 * @param {MarkSource["css"]} options.css
 * @returns {{ shape: Marks["shapes"][number], annotation: Marks["annotations"][number] }}
 */
export function stepMark(x, { color, dash, sign, above, hovertext, css }) {
  const line = { color, width: 1, dash };
  return {
    shape: { type: "line", xref: "x", yref: "paper", x0: x, x1: x, y0: 0, y1: 1, line },
    annotation: {
      x,
      y: 0,
      xref: "x",
      yref: "paper",
      yanchor: "bottom",
      yshift: above,
      text: sign,
      showarrow: false,
      font: { color, size: 11 },
      hovertext,
      hoverlabel: { bgcolor: css("--surface"), bordercolor: color, font: { color: css("--text"), size: 12 } },
    },
  };
}
