// Names of the areas of the regime map: whole wherever there is room, on one line, on several, or upright.

import { svg } from "../core/dom.js";
import { textAt } from "../charts/small_chart.js";

/** @typedef {{ left: number, right: number, top: number, bottom: number }} Area in pixels */

const LETTER = 7.2; // pixels of a letter, of which few are wider
const LINE = 15;
const PADDING = 8;

/** @param {string} text */
const widthOf = (text) => 2 * PADDING + LETTER * text.length;

/**
 * The lines on which a name fits into a width and a height, whole; null where it does not.
 * @param {string} name
 * @param {number} width
 * @param {number} height
 * @returns {string[] | null}
 */
export function linesThatFit(name, width, height) {
  const split = [[name], name.split(" ")].find((lines) => lines.every((line) => widthOf(line) <= width));
  return split && split.length * LINE + PADDING <= height ? split : null;
}

/**
 * The label of an area, next to the border between high and low mutual information, where there are fewest dots: at
 * the bottom of an area above it, else at the top.
 * @param {string} name
 * @param {Area} area
 * @param {boolean} isAbove
 */
export function areaLabel(name, { left, right, top, bottom }, isAbove) {
  const [width, height] = [right - left, bottom - top];
  const lines = linesThatFit(name, width, height);
  if (lines) {
    const first = isAbove ? bottom - PADDING - LINE * (lines.length - 1) : top + PADDING + 10;
    return lines.map((line, index) => textAt("regime-label", left + PADDING, first + LINE * index, line));
  }
  const upright = linesThatFit(name, height, width) ?? [];
  const at = isAbove ? bottom - PADDING : top + PADDING;
  const start = left + width / 2 + 4 - (LINE * (upright.length - 1)) / 2;
  return upright.map((line, index) => {
    const transform = `translate(${start + LINE * index} ${at}) rotate(-90)`;
    return svg("text", { class: `regime-label${isAbove ? "" : " regime-label--below"}`, transform }, line);
  });
}
