// How hard each part of the loss pulls, by how much returns differ within a group: a chart for each part, a line a bucket.

import { element } from "../core/dom.js";
import { number } from "../core/format.js";
import { atOrBefore, SmallLines } from "../charts/small_chart.js";
import { whyNoGradients } from "./empty_state.js";

const BUCKET = /^gradient\/(bucket_\d+)\/reward_std$/;
const PARTS = [
  {
    key: "task",
    title: "Task: what rewards teach, and their noise",
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
    title: "KL: pull to the starting model",
    why: (facts) =>
      facts.klCoefficient
        ? "Zero in every bucket: the policy has not left its start."
        : "No pull in this run: loss.kl_coefficient = 0.",
  },
];

export class GradientBuckets {
  constructor(root, facts, onStep) {
    Object.assign(this, { root, facts });
    this.said = element("p", { class: "muted" });
    this.charts = PARTS.map((part) => new SmallLines({ title: part.title, low: 0, onStep }));
    this.row = element("div", { class: "lines-row" }, ...this.charts.map((chart) => chart.panel));
    root.append(this.said, this.row);
  }

  draw(store, state, domain, mark) {
    const steps = store.steps.filter(({ metrics }) => metrics["gradient/all/task"] !== undefined);
    this.row.hidden = !steps.length;
    this.said.textContent = steps.length
      ? this.inWords(steps, mark)
      : whyNoGradients(this.facts, state, store).text;
    if (!steps.length) return;
    const buckets = bucketsOf(steps);
    this.charts.forEach((chart, place) => {
      const { key, why } = PARTS[place];
      const series = buckets.map((bucket, index) => ({
        name: nameOf(bucket, index, buckets.length, steps, mark),
        kind: `ordered-${shade(index, buckets.length)}`,
        points: pointsOf(steps, `gradient/${bucket}/${key}`),
      }));
      const zero = series.every((one) => one.points.every((point) => point.y === 0));
      chart.draw({ series: zero ? [] : series, domain, mark, whyEmpty: why(this.facts) });
    });
  }

  inWords(steps, mark) {
    const now = atOrBefore(steps, mark) ?? steps[0];
    const buckets = bucketsOf([now]);
    const share = (bucket) => now.metrics[`gradient/${bucket}/regularizer_share`];
    const [least, most] = [buckets[0], buckets.at(-1)];
    const task = (bucket) => number(now.metrics[`gradient/${bucket}/task`]);
    return (
      "Norm of each part's own gradient, the mean over a bucket's groups; nothing is stepped. " +
      `Step ${now.step}: where returns differ least the task pulls with ${task(least)}, where they differ most with ${task(most)}. ` +
      `Entropy and KL have ${percentOf(share(least))} of the pull in the first and ${percentOf(share(most))} in the last.`
    );
  }
}

const percentOf = (value) => (value === undefined ? "–" : `${(100 * value).toFixed(0)}%`);

function bucketsOf(steps) {
  const found = new Set(steps.flatMap(({ metrics }) => Object.keys(metrics).map((name) => BUCKET.exec(name)?.[1])));
  found.delete(undefined);
  return [...found].sort((one, other) => numberOf(one) - numberOf(other));
}

const numberOf = (bucket) => Number(bucket.split("_")[1]);

function nameOf(bucket, index, count, steps, mark) {
  const now = atOrBefore(pointsOf(steps, `gradient/${bucket}/reward_std`), mark);
  const end = count < 2 ? "" : index === 0 ? "least spread" : index === count - 1 ? "most spread" : "";
  return [end || `bucket ${numberOf(bucket)}`, now ? `σ ${number(now.y, 2)}` : ""].filter(Boolean).join(" · ");
}

function pointsOf(steps, name) {
  return steps
    .filter(({ metrics }) => metrics[name] !== undefined)
    .map(({ step, metrics }) => ({ step, y: metrics[name] }));
}

// One of six shades, from the least spread to the most.
function shade(index, count) {
  return count < 2 ? 6 : 1 + Math.round((5 * index) / (count - 1));
}
