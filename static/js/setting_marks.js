// Changed settings as marks on a chart: a line after the step, and at its foot a sign that says what changed and who
// asked for it.

import { at } from "./curves.js";
import { settingText } from "./settings_now.js";
import { visibleString } from "./visible_text.js";

export function settingMarks({ store, view, css }) {
  const color = css("--accent");
  const shapes = [];
  const annotations = [];
  for (const [step, lines] of changesByStep(store)) {
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
      yanchor: "middle",
      text: "◆",
      showarrow: false,
      font: { color, size: 11 },
      hovertext: [`after step ${step}`, ...lines].map(plain).join("<br>"),
      hoverlabel: { bgcolor: css("--surface"), bordercolor: color, font: { color: css("--text"), size: 12 } },
    });
  }
  return { shapes, annotations };
}

/** What the marks hang on, for a chart's signature. */
export const settingsSeen = (store) => `${store.settings.at(-1)?.seq ?? 0}+${Object.keys(store.askers).length}`;

// Alert rules train nothing: they are listed under Alerts.
function changesByStep({ settings, askers }) {
  const found = new Map();
  let before = 0;
  for (const { step, revision, changes } of settings) {
    const trained = Object.entries(changes).filter(([field]) => !field.startsWith("detectors."));
    const lines = trained.map(([field, one]) => `${field} ${settingText(one.old)} → ${settingText(one.new)}`);
    const names = new Set(Object.keys(askers).flatMap((key) => (key > before && key <= revision ? askers[key] : [])));
    if (lines.length && names.size) lines.push(`asked for by ${[...names].join(", ")}`);
    if (lines.length) found.set(step, new Set([...(found.get(step) ?? []), ...lines])); // a resume tells it again
    before = revision;
  }
  return found;
}

// Plotly reads some markup in texts
const plain = (text) => visibleString(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
