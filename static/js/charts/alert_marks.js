// Alerts as marks on a chart: a line at the step, and near its foot a sign that names the alert and links to its
// evidence. At its head it would be below the chart's buttons.

import { at } from "./positions.js";
import { plain } from "./setting_marks.js";
import { stepMark } from "./step_marks.js";

/** @import { AlertRaised, MarkSource, Marks } from "../types.js" */

const SHOWN = 3; // alerts of a step
const LINE_LENGTH = 56;
const MILD = new Set(["watch", "warn"]);

/**
 * @param {MarkSource} markSource
 * @returns {Marks}
 */
export function alertMarks({ store, view, css }) {
  /** @type {Marks["shapes"]} */
  const shapes = [];
  /** @type {Marks["annotations"]} */
  const annotations = [];
  for (const [step, alerts] of byStep(store.alerts)) {
    const position = store.curves.position(step);
    if (!position) continue;
    const x = at(position, view.axis);
    const color = css(alerts.every(({ severity }) => MILD.has(severity)) ? "--watch" : "--bad");
    const above = 16; // higher than the sign of a changed setting
    const hovertext = hoverText(step, alerts);
    const { shape, annotation } = stepMark(x, { color, dash: "dot", sign: "▲", above, hovertext, css });
    shapes.push(shape);
    annotations.push({ ...annotation, name: `alert ${alerts[alerts.length - 1].seq}`, captureevents: true });
  }
  return { shapes, annotations };
}

/**
 * @param {AlertRaised[]} alerts
 * @returns {Map<number, AlertRaised[]>}
 */
function byStep(alerts) {
  const found = new Map();
  for (const alert of alerts) found.set(alert.step, [...(found.get(alert.step) ?? []), alert]);
  return found;
}

/**
 * The seq of the alert of a mark, null for another mark.
 * @param {{ name?: string }} options
 */
export function alertOf({ name }) {
  return name?.startsWith("alert ") ? Number(name.slice(6)) : null;
}

/**
 * @param {number} step
 * @param {AlertRaised[]} alerts
 */
function hoverText(step, alerts) {
  const lines = alerts
    .slice(-SHOWN)
    .flatMap(({ rule, severity, message }) => [`${severity}: ${rule}`, ...wrapped(String(message ?? ""))]);
  const rest = alerts.length > SHOWN ? [`and ${alerts.length - SHOWN} more: see Alerts`] : [];
  return [`step ${step}`, ...lines, ...rest, "click to open the evidence"].map(plain).join("<br>");
}

/** @param {string} text */
function wrapped(text) {
  const lines = [""];
  for (const word of text.split(/\s+/)) {
    const line = lines[lines.length - 1];
    if (line && line.length + word.length > LINE_LENGTH) lines.push(word);
    else lines[lines.length - 1] = line ? `${line} ${word}` : word;
  }
  return lines;
}
