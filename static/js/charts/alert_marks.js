// Alerts as marks on a chart: a line at the step, and near its foot a sign that says what was raised and leads to its
// evidence. At its head it would lie below the chart's buttons.

import { at } from "./curves.js";
import { plain } from "./setting_marks.js";

const SHOWN = 3; // alerts of a step
const WIDE = 56; // letters of a line
const MILD = new Set(["watch", "warn"]);

export function alertMarks({ store, view, css }) {
  const shapes = [];
  const annotations = [];
  for (const [step, alerts] of Map.groupBy(store.alerts, (alert) => alert.step)) {
    const place = store.curves.place(step);
    if (!place) continue;
    const x = at(place, view.axis);
    const color = css(alerts.every(({ severity }) => MILD.has(severity)) ? "--watch" : "--bad");
    const line = { color, width: 1, dash: "dot" };
    shapes.push({ type: "line", xref: "x", yref: "paper", x0: x, x1: x, y0: 0, y1: 1, line });
    annotations.push({
      name: `alert ${alerts.at(-1).seq}`,
      x,
      y: 0,
      xref: "x",
      yref: "paper",
      yanchor: "bottom",
      yshift: 16, // above the sign of a changed setting
      text: "▲",
      showarrow: false,
      captureevents: true,
      font: { color, size: 11 },
      hovertext: said(step, alerts),
      hoverlabel: { bgcolor: css("--surface"), bordercolor: color, font: { color: css("--text"), size: 12 } },
    });
  }
  return { shapes, annotations };
}

/** The seq of the alert that a mark stands for, null for another mark. */
export function alertOf({ name }) {
  return name?.startsWith("alert ") ? Number(name.slice(6)) : null;
}

function said(step, alerts) {
  const lines = alerts.slice(-SHOWN).flatMap(({ rule, severity, message }) => [
    `${severity}: ${rule}`,
    ...wrapped(String(message ?? "")),
  ]);
  const rest = alerts.length > SHOWN ? [`and ${alerts.length - SHOWN} more: see Alerts`] : [];
  return [`step ${step}`, ...lines, ...rest, "a click opens the evidence"].map(plain).join("<br>");
}

function wrapped(text) {
  const lines = [""];
  for (const word of text.split(/\s+/)) {
    if (lines.at(-1) && lines.at(-1).length + word.length > WIDE) lines.push("");
    lines[lines.length - 1] += `${lines.at(-1) ? " " : ""}${word}`;
  }
  return lines;
}
