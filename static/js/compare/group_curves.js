// The curves of groups of runs, which the server computes: the mean over the runs at each step, with a band.

import { coordinate, listed } from "../charts/positions.js";
import { getJson } from "../core/requests.js";

/** @import { Axis, Ends, Point } from "../types.js" */
/** @import { Line } from "./lines.js" */
/** @import { CompareView } from "./view_state.js" */

/** @typedef {Point & { count: number, whole: boolean }} MeanPoint `whole` where every run of the group has a value */

/**
 * @typedef {object} GroupColumns as the API sends them
 * @property {number[]} steps
 * @property {(number | null)[]} mean
 * @property {(number | null)[]} low
 * @property {(number | null)[]} high
 * @property {number[]} count
 * @property {(number | null)[]} tokens
 * @property {(number | null)[]} seconds
 * @property {(number | null)[]} elapsed
 */

/** @typedef {{ groups: Record<string, GroupColumns>[] }} GroupAnswer */

export class GroupCurves {
  /** @type {Line[]} */
  lines = [];
  asking = false;
  failed = false;
  revision = 0;
  /** @type {Map<string, { signature: string, points: Map<string, MeanPoint[]> }>} by metric, then by id of the line */
  known = new Map();

  /**
   * @param {CompareView} view
   * @param {() => void} onUpdate
   */
  constructor(view, onUpdate) {
    this.view = view;
    this.onUpdate = onUpdate;
  }

  /** @param {Line[]} lines all of the comparison; only groups are of interest */
  show(lines) {
    this.lines = lines.filter((line) => line.isMean && line.shown.length);
  }

  get signature() {
    const groups = this.lines.map(({ shown }) => shown.map((run) => `${run.id}@${run.step}`).join(","));
    return `${this.view.band}|${groups.join(";")}`;
  }

  /** @param {string[]} keys */
  async want(keys) {
    if (!this.lines.length || this.asking) return;
    const { signature, lines } = this;
    const missing = keys.filter((key) => this.known.get(key)?.signature !== signature);
    if (!missing.length) return;
    this.asking = true;
    const groups = lines.map(({ shown }) => shown.map((run) => run.id).join(",")).join(";");
    /** @type {GroupAnswer | null} */
    const answer = await getJson(
      `/api/v1/group-curves?groups=${groups}&metrics=${listed(missing)}&band=${this.view.band}`,
    );
    this.asking = false;
    this.failed = !answer;
    for (const key of answer ? missing : []) {
      const points = lines.map(
        ({ id }, i) => /** @type {[string, MeanPoint[]]} */ ([id, meanPoints(answer?.groups[i][key])]),
      );
      this.known.set(key, { signature, points: new Map(points) });
    }
    this.revision += 1;
    if (answer) this.onUpdate();
  }

  /**
   * The points of a group along the axis: beyond the end of a run only steps are known.
   * @param {Line} line
   * @param {string} metric
   * @returns {MeanPoint[]}
   */
  points(line, metric) {
    const found = this.known.get(metric)?.points.get(line.id) ?? [];
    return this.view.axis === "step" ? found : found.filter((point) => point.whole && !Number.isNaN(point.tokens));
  }

  get isWaiting() {
    return this.asking;
  }

  /**
   * @param {Axis} axis
   * @returns {Ends | null}
   */
  ends(axis) {
    const all = [...this.known.values()].flatMap(({ points }) => [...points.values()].flat());
    const positions = all.map((point) => coordinate(point, axis)).filter(Number.isFinite);
    if (positions.length < 2) return null;
    const [first, last] = [Math.min(...positions), Math.max(...positions)];
    return last > first ? { first, last, steps: Math.max(...all.map(({ step }) => step)) } : null;
  }

  /** @param {string} key */
  isLoaded(key) {
    return !this.lines.length || this.known.has(key) || this.failed;
  }

  revisionOf() {
    return `${this.revision}.${this.view.band}`;
  }
}

/**
 * @param {GroupColumns | undefined} columns
 * @returns {MeanPoint[]}
 */
export function meanPoints(columns) {
  if (!columns) return [];
  const most = Math.max(...columns.count);
  return columns.steps.flatMap((step, i) => {
    const y = columns.mean[i];
    if (y === null) return [];
    const [tokens, seconds, elapsed] = [columns.tokens[i], columns.seconds[i], columns.elapsed[i]].map(
      (value) => value ?? Number.NaN,
    );
    const count = columns.count[i];
    const bounds = { low: columns.low[i], high: columns.high[i] };
    return [{ step, tokens, seconds, elapsed, time: Number.NaN, y, count, whole: count === most, ...bounds }];
  });
}
