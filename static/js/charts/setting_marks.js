// Changed settings as marks on a chart: a line after the step, and at its foot a sign that names the changes and who
// requested them.

import { at } from "./positions.js";
import { stepMark } from "./step_marks.js";
import { settingText } from "../run/current_settings.js";
import { visibleString } from "../core/visible_text.js";

/** @import { ChartStore, MarkSource, Marks } from "../types.js" */

const SHOWN = 3; // changes of a step

/**
 * @param {MarkSource} markSource
 * @returns {Marks}
 */
export function settingMarks({ store, view, css }) {
  const color = css("--accent");
  /** @type {Marks["shapes"]} */
  const shapes = [];
  /** @type {Marks["annotations"]} */
  const annotations = [];
  for (const [step, { lines, names }] of changesByStep(store)) {
    const position = store.curves.position(step);
    if (!position) continue;
    const x = at(position, view.axis);
    const hovertext = hoverText(step, [...lines], [...names]);
    const { shape, annotation } = stepMark(x, { color, dash: "dash", sign: "◆", above: 4, hovertext, css });
    shapes.push(shape);
    annotations.push(annotation);
  }
  return { shapes, annotations };
}

/**
 * What the marks depend on, for a chart's signature.
 * @param {Pick<ChartStore, "settings" | "requestedBy">} store
 */
export const settingsSignature = (store) =>
  `${store.settings.at(-1)?.seq ?? 0}+${Object.keys(store.requestedBy).length}`;

/**
 * @param {number} step
 * @param {string[]} lines
 * @param {string[]} names
 */
function hoverText(step, lines, names) {
  const heading = names.length ? `after step ${step}, requested by ${names.join(", ")}` : `after step ${step}`;
  const rest = lines.length > SHOWN ? [`and ${lines.length - SHOWN} more: see Config`] : [];
  return [heading, ...lines.slice(0, SHOWN), ...rest].map(plain).join("<br>");
}

/**
 * Alert rules train nothing: they are listed under Alerts.
 * @param {Pick<ChartStore, "settings" | "requestedBy">} pick
 */
function changesByStep({ settings, requestedBy }) {
  /** @type {Map<number, { lines: Set<string>, names: Set<string> }>} */
  const found = new Map();
  let before = 0;
  for (const { step, revision, changes } of settings) {
    const trained = Object.entries(changes).filter(([field]) => !field.startsWith("detectors."));
    const lines = trained.map(([field, one]) => `${field} ${settingText(one.old)} → ${settingText(one.new)}`);
    const names = Object.entries(requestedBy).flatMap(([key, users]) => {
      return Number(key) > before && Number(key) <= revision ? users : [];
    });
    before = revision;
    if (!lines.length) continue;
    const known = found.get(step) ?? { lines: [], names: [] }; // a resumed run reports it again
    const both = { lines: new Set([...known.lines, ...lines]), names: new Set([...known.names, ...names]) };
    found.set(step, both);
  }
  return found;
}

/**
 * Text for Plotly, which reads some markup.
 * @param {string} text
 */
export const plain = (text) =>
  visibleString(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
