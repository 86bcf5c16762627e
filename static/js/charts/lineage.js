// The curves of a fork's ancestors, up to the steps at which they were forked, for charts over the steps of a lineage.

import { tracesOf } from "./chart_traces.js";
import { Curves } from "./curves.js";
import { heldOutTrace } from "./held_out_traces.js";
import { plain } from "./setting_marks.js";
import { getJson } from "../core/requests.js";

/** @import { Ancestor, Axis, Css, EvaluationCompleted, LineageFacts, Marks } from "../types.js" */
/** @import { Outline, Point, Trace, View, Window } from "../types.js" */

const FAINT = 0.6; // opacity: these are steps of another run

/** Steps 1 to `upto` of an ancestor, whose own ancestors had `before`. */
class AncestorCurves extends Curves {
  /** @type {EvaluationCompleted[] | null} requested with the first curve */
  evaluations = null;

  /**
   * @param {Ancestor} ancestor
   * @param {() => void} onUpdate
   */
  constructor({ id, name, upto, before }, onUpdate) {
    super(`/api/v1/runs/${id}/bands`, upto, onUpdate);
    this.id = id;
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

  async loadEvaluations() {
    if (this.evaluations) return;
    this.evaluations = [];
    /** @type {Outline | null} */
    const outline = await getJson(`/api/v1/runs/${this.id}/outline`);
    this.evaluations = (outline?.events ?? [])
      .filter((event) => event.kind === "evaluation_completed")
      .filter((event) => event.step <= this.upto);
    this.onUpdate();
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
      curves.loadEvaluations();
      curves.zoom(keys, axis, window);
    }
  }

  /** @param {string[]} keys */
  revisionOf(keys) {
    return this.ancestors.map((curves) => `${curves.revisionOf(keys)}.${curves.evaluations?.length}`).join("+");
  }

  /**
   * The ancestors that are drawn, on the axis of the lineage alone.
   * @param {Axis} axis
   * @param {string[]} drawnAlready ids of runs that the chart has anyway
   */
  drawn(axis, drawnAlready = []) {
    return axis === "lineage" ? this.ancestors.filter(({ id }) => !drawnAlready.includes(id)) : [];
  }

  /**
   * The points of a metric, oldest first, each with the name of its run.
   * @param {string} key
   * @param {Axis} axis
   * @param {string[]} [drawnAlready]
   * @returns {Point[]}
   */
  points(key, axis, drawnAlready) {
    return this.drawn(axis, drawnAlready).flatMap((curves) =>
      curves.points(key).map((point) => ({ ...point, of: curves.name })),
    );
  }

  /**
   * The ancestors' lines, as the run's own but fainter.
   * @param {{ names: string[], colours: string[], view: Pick<View, "axis" | "smoothing">, dash?: string, log?: boolean, drawnAlready?: string[] }} look
   * @returns {Trace[]}
   */
  traces({ names, colours, view, dash, log, drawnAlready }) {
    return this.drawn(view.axis, drawnAlready).flatMap((curves) =>
      tracesOf({ names, colours, curves, view, dash, log }).map((trace) => asAncestor(trace, curves.name)),
    );
  }

  /**
   * The ancestors' held-out results.
   * @param {string | undefined} tag
   * @param {{ view: Pick<View, "axis">, colour: string, drawnAlready?: string[] }} look
   * @returns {Trace[]}
   */
  heldOutTraces(tag, { view, colour, drawnAlready }) {
    return this.drawn(view.axis, drawnAlready).flatMap((curves) => {
      const evaluations = curves.evaluations?.filter((one) => one.environment === tag) ?? [];
      const trace = heldOutTrace(evaluations, { curves, view, colour });
      const text = trace.text.map((words, i) => `held-out at step ${evaluations[i].step}: ${words}`);
      return evaluations.length
        ? [asAncestor({ ...trace, text, hovertemplate: "%{text}<extra></extra>" }, curves.name)]
        : [];
    });
  }
}

/**
 * A click on it opens nothing: its steps are another run's.
 * @param {Trace} trace
 * @param {string} name
 * @returns {Trace}
 */
const asAncestor = (trace, name) => ({
  ...trace,
  opacity: FAINT * (typeof trace.opacity === "number" ? trace.opacity : 1),
  text: trace.text?.map((words) => `${plain(name)}<br>${words}`),
  customdata: undefined,
});

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
      xanchor: "right",
      yanchor: "top",
      text: "fork",
      showarrow: false,
      font: { color, size: 11 },
      hovertext: `forked from ${plain(fork.name)} at step ${fork.upto}`,
      hoverlabel: { bgcolor: css("--surface"), bordercolor: color, font: { color: css("--text"), size: 12 } },
    })),
  };
}
