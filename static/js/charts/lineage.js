// The curves of a fork's ancestors, up to the steps at which they were forked, for charts over the steps of a lineage.

import { tracesOf } from "./chart_traces.js";
import { Curves } from "./curves.js";
import { plain } from "./setting_marks.js";

/** @import { Axis, Ancestor, Css, LineageFacts, Marks, Point, Trace, View, Window } from "../types.js" */

const FAINT = 0.6; // opacity: these are steps of another run

/** Steps 1 to `upto` of an ancestor, whose own ancestors had `before`. */
class AncestorCurves extends Curves {
  /**
   * @param {Ancestor} ancestor
   * @param {() => void} onUpdate
   */
  constructor({ id, name, upto, before }, onUpdate) {
    super(`/api/v1/runs/${id}/bands`, upto, onUpdate);
    this.name = name;
    this.upto = upto;
    this.before = before;
  }

  /**
   * @param {string[]} keys
   * @param {string} window
   */
  async request(keys, window) {
    return super.request(keys, window || `&to=${this.upto}`);
  }
}

export class Lineage {
  /**
   * @param {LineageFacts} facts
   * @param {() => void} onUpdate called when curves have come
   */
  constructor({ before, ancestors }, onUpdate) {
    this.before = before;
    this.ancestors = ancestors.map((one) => new AncestorCurves(one, onUpdate));
  }

  /** Where each descendant begins. */
  get forks() {
    return this.ancestors.map(({ name, upto, before }) => ({ name, upto, at: before + upto }));
  }

  /**
   * @param {string[]} keys
   * @param {Axis} axis the ancestors are on that of the lineage alone
   * @param {Window | null} window
   */
  want(keys, axis, window) {
    if (axis !== "lineage") return;
    for (const curves of this.ancestors) {
      curves.want(keys);
      curves.zoom(keys, axis, window);
    }
  }

  /** @param {string[]} keys */
  revisionOf(keys) {
    return this.ancestors.map((curves) => curves.revisionOf(keys)).join("+");
  }

  /**
   * The points of a metric, oldest first, each with the name of its run.
   * @param {string} key
   * @param {Axis} axis
   * @returns {Point[]}
   */
  points(key, axis) {
    if (axis !== "lineage") return [];
    return this.ancestors.flatMap((curves) => curves.points(key).map((point) => ({ ...point, of: curves.name })));
  }

  /**
   * The ancestors' lines, as the run's own but fainter. A click on them opens nothing: their steps are another run's.
   * @param {{ names: string[], colours: string[], view: Pick<View, "axis" | "smoothing">, dash?: string }} look
   * @returns {Trace[]}
   */
  traces({ names, colours, view, dash }) {
    if (view.axis !== "lineage") return [];
    return this.ancestors.flatMap((curves) =>
      tracesOf({ names, colours, curves, view, dash }).map((trace) => ({
        ...trace,
        opacity: FAINT * (typeof trace.opacity === "number" ? trace.opacity : 1),
        text: trace.text?.map((words) => `${plain(curves.name)}<br>${words}`),
        customdata: undefined,
      })),
    );
  }
}

/** @typedef {{ name: string, upto: number, at: number }} ForkPoint */

/**
 * A line where a fork begins, and at its head a sign that names the checkpoint.
 * @param {{ forks: ForkPoint[], view: Pick<View, "axis">, css: Css }} source
 * @returns {Marks}
 */
export function forkMarks({ forks, view, css }) {
  if (view.axis !== "lineage") return { shapes: [], annotations: [] };
  const color = css("--text-muted");
  return {
    shapes: forks.map((fork) => ({
      type: "line",
      xref: "x",
      yref: "paper",
      x0: fork.at,
      x1: fork.at,
      y0: 0,
      y1: 1,
      line: { color, width: 1, dash: "dot" },
    })),
    annotations: forks.map((fork) => ({
      x: fork.at,
      y: 1,
      xref: "x",
      yref: "paper",
      yanchor: "top",
      text: "⑂",
      showarrow: false,
      font: { color, size: 14 },
      hovertext: `forked from ${plain(fork.name)} at step ${fork.upto}`,
      hoverlabel: { bgcolor: css("--surface"), bordercolor: color, font: { color: css("--text"), size: 12 } },
    })),
  };
}
