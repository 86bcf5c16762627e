// Gradient norm by loss term, in buckets of the standard deviation of returns within a group: a chart for each term, a
// line for each bucket.

import { element } from "../core/dom.js";
import { number } from "../core/format.js";
import { atOrBefore, SmallChart } from "../charts/small_chart.js";
import { whyNoGradients } from "./empty_state.js";

/** @import { Facts, HistoryStore, RunState, StepRow, Window } from "../types.js" */

const BUCKET = /^gradient\/(bucket_\d+)\/reward_std$/;
/** @type {{ key: string, title: string, why: (facts: Facts) => string }[]} */
const TERMS = [
  {
    key: "task",
    title: "Gradient norm of the task, by within-group reward std",
    why: () => "Zero in every bucket: no group's returns differed.",
  },
  {
    key: "entropy",
    title: "Entropy bonus",
    why: (facts) =>
      facts.entropyCoefficient ? "Zero in every bucket." : "No bonus in this run: loss.entropy_coefficient = 0.",
  },
  {
    key: "kl",
    title: "KL to the reference model",
    why: (facts) =>
      facts.klCoefficient
        ? "Zero in every bucket: the policy is still the reference model."
        : "No KL term in this run: loss.kl_coefficient = 0.",
  },
];

export class GradientBuckets {
  /**
   * The task's gradient is in the picture, those of the other terms below each other in the rest.
   * @param {{ picture: HTMLElement, rest: HTMLElement, height: number }} parts
   * @param {Facts} facts
   * @param {(step: number) => void} onStep
   */
  constructor({ picture, rest, height }, facts, onStep) {
    this.facts = facts;
    this.summary = element("p", { class: "muted" });
    this.charts = TERMS.map(
      ({ title }, i) => new SmallChart({ title, low: 0, onStep, height: i ? undefined : height }),
    );
    const [task, ...others] = this.charts.map((chart) => chart.panel);
    this.rest = rest;
    picture.append(task, this.summary);
    rest.append(element("div", { class: "lines-row lines-row--two" }, ...others));
  }

  /**
   * @param {Pick<HistoryStore, "steps" | "last">} store
   * @param {RunState} state
   * @param {Window} domain
   * @param {number | null} mark
   */
  draw(store, state, domain, mark) {
    const steps = store.steps.filter(({ metrics }) => metrics["gradient/all/task"] !== undefined);
    this.rest.hidden = this.summary.hidden = !steps.length;
    if (!steps.length) {
      this.charts[0].draw({ series: [], domain, mark, whyEmpty: whyNoGradients(this.facts, state, store).text });
      return;
    }
    this.summary.textContent = this.describe(steps, mark);
    const buckets = bucketsOf(steps);
    this.charts.forEach((chart, term) => {
      const { key, why } = TERMS[term];
      const series = buckets.map((bucket, index) => ({
        name: nameOf(bucket, index, buckets.length, steps, mark),
        kind: `ordered-${shade(index, buckets.length)}`,
        points: pointsOf(steps, `gradient/${bucket}/${key}`),
      }));
      const zero = series.every((one) => one.points.every((point) => point.y === 0));
      chart.draw({ series: zero ? [] : series, domain, mark, whyEmpty: why(this.facts) });
    });
  }

  /**
   * @param {StepRow[]} steps
   * @param {number | null} mark
   */
  describe(steps, mark) {
    const now = rowAtOrBefore(steps, mark);
    const buckets = bucketsOf([now]);
    const share = (/** @type {string} */ bucket) => now.metrics[`gradient/${bucket}/regularizer_share`];
    const [least, most] = [buckets[0], buckets[buckets.length - 1]];
    const task = (/** @type {string} */ bucket) => number(now.metrics[`gradient/${bucket}/task`]);
    return (
      `Step ${now.step}: ${task(least)} in groups whose returns differ least, ${task(most)} where they differ most. ` +
      `Entropy and KL make up ${percentOf(share(least))} of the norm in the first bucket and ${percentOf(share(most))} in the last.`
    );
  }
}

/** @param {number | undefined} value */
const percentOf = (value) => (value === undefined ? "–" : `${(100 * value).toFixed(0)}%`);

/**
 * @param {StepRow[]} steps
 * @param {number | null} mark
 */
function rowAtOrBefore(steps, mark) {
  return steps.findLast((one) => one.step <= (mark ?? Infinity)) ?? steps[0];
}

/** @param {StepRow[]} steps */
function bucketsOf(steps) {
  const names = steps.flatMap(({ metrics }) => Object.keys(metrics));
  const found = new Set(names.flatMap((name) => BUCKET.exec(name)?.[1] ?? []));
  return [...found].sort((one, other) => numberOf(one) - numberOf(other));
}

/** @param {string} bucket */
const numberOf = (bucket) => Number(bucket.split("_")[1]);

/**
 * @param {string} bucket
 * @param {number} index
 * @param {number} count
 * @param {StepRow[]} steps
 * @param {number | null} mark
 */
function nameOf(bucket, index, count, steps, mark) {
  const now = atOrBefore(pointsOf(steps, `gradient/${bucket}/reward_std`), mark);
  const end = count < 2 ? "" : index === 0 ? "lowest std" : index === count - 1 ? "highest std" : "";
  return [end || `bucket ${numberOf(bucket)}`, now ? `σ ${number(now.y, 2)}` : ""].filter(Boolean).join(" · ");
}

/**
 * @param {StepRow[]} steps
 * @param {string} name
 */
function pointsOf(steps, name) {
  return steps
    .filter(({ metrics }) => metrics[name] !== undefined)
    .map(({ step, metrics }) => ({ step, y: metrics[name] }));
}

/**
 * One of six shades, from the lowest standard deviation to the highest.
 * @param {number} index
 * @param {number} count
 */
function shade(index, count) {
  return count < 2 ? 6 : 1 + Math.round((5 * index) / (count - 1));
}
