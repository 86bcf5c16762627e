// Changed settings as marks on a chart: a line after the step, and at its foot a sign that says what changed and who
// asked for it.

import { at } from "./curves.js";
import { settingText } from "../run/current_settings.js";
import { visibleString } from "../core/visible_text.js";

const SHOWN = 3; // changes of a step

export function settingMarks({ store, view, css }) {
  const color = css("--accent");
  const shapes = [];
  const annotations = [];
  for (const [step, { lines, names }] of changesByStep(store)) {
    const place = store.curves.place(step);
    if (!place) continue;
    const x = at(place, view.axis);
    const line = { color, width: 1, dash: "dash" };
    shapes.push({ type: "line", xref: "x", yref: "paper", x0: x, x1: x, y0: 0, y1: 1, line });
    annotations.push({
      x,
      y: 0,
      xref: "x",
      yref: "paper",
      yanchor: "bottom",
      yshift: 4, // what it says has room around it
      text: "◆",
      showarrow: false,
      font: { color, size: 11 },
      hovertext: said(step, [...lines], [...names]),
      hoverlabel: { bgcolor: css("--surface"), bordercolor: color, font: { color: css("--text"), size: 12 } },
    });
  }
  return { shapes, annotations };
}

/** What the marks hang on, for a chart's signature. */
export const settingsSeen = (store) => `${store.settings.at(-1)?.seq ?? 0}+${Object.keys(store.askers).length}`;

function said(step, lines, names) {
  const heading = names.length ? `after step ${step}, asked for by ${names.join(", ")}` : `after step ${step}`;
  const rest = lines.length > SHOWN ? [`and ${lines.length - SHOWN} more: see Config`] : [];
  return [heading, ...lines.slice(0, SHOWN), ...rest].map(plain).join("<br>");
}

// Alert rules train nothing: they are listed under Alerts.
function changesByStep({ settings, askers }) {
  const found = new Map();
  let before = 0;
  for (const { step, revision, changes } of settings) {
    const trained = Object.entries(changes).filter(([field]) => !field.startsWith("detectors."));
    const lines = trained.map(([field, one]) => `${field} ${settingText(one.old)} → ${settingText(one.new)}`);
    const names = Object.keys(askers).flatMap((key) => (key > before && key <= revision ? askers[key] : []));
    before = revision;
    if (!lines.length) continue;
    const there = found.get(step) ?? { lines: [], names: [] }; // a resume tells it again
    const both = { lines: new Set([...there.lines, ...lines]), names: new Set([...there.names, ...names]) };
    found.set(step, both);
  }
  return found;
}

/** Text for Plotly, which reads some markup. */
export const plain = (text) => visibleString(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
