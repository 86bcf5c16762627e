// How the settings of a comparison are written on charts.

import { plain } from "../charts/setting_marks.js";
import { number } from "../core/format.js";
import { visibleString } from "../core/visible_text.js";

/** @import { EffectRun, SettingField } from "./effects_panel.js" */

const LONGEST = 18; // characters of a line

/** @param {string} text */
export const short = (text) => (text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text);

/** @param {string} text of a label, which becomes no markup */
export const onChart = (text) => plain(visibleString(text));

/**
 * The last part of a dotted name below the one before it, since many sections have a `type` and a `value`.
 * @param {string} label
 * @param {RegExp} between its parts
 */
export function heading(label, between = /\./) {
  const [last = "", before] = label.split(between).reverse();
  return [...(before ? [short(before)] : []), short(last)].map(onChart).join("<br>");
}

/**
 * What a run is on each axis, for its hover text.
 * @param {EffectRun} run
 * @param {SettingField[]} fields
 * @param {number} i
 * @param {string} title of the outcome
 */
export const describeRun = ({ name, seed, y }, fields, i, title) =>
  [
    `<b>${onChart(name)}</b>${seed === null ? "" : `, seed ${seed}`}`,
    ...fields.map(({ label, values }) => `${onChart(label)}: ${onChart(short(values[i]))}`),
    `${onChart(title)}: <b>${number(y)}</b>`,
  ].join("<br>");
