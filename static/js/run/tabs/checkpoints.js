// The checkpoints of a run, newest first, with what each achieved on held-out problems; those that still exist can be
// forked, evaluated and downloaded.

import { byId, element, svg, targetWithin } from "../../core/dom.js";
import { ago, bytes, percent } from "../../core/format.js";
import { postFields } from "../../core/requests.js";
import { toast } from "../../core/toast.js";
import { bestOf, heldOutOf, keptForRescue, retainedSteps, standingOf } from "../retained_checkpoints.js";
import { refreshRows } from "../../lists/refresh_rows.js";

/** @import { CheckpointSaved, EvaluationRequest, HeldOutResult, RunPage } from "../../types.js" */

/** @type {Record<string, [tone: string, words: string, title: string]>} */
const MARKS = {
  best: ["good", "best held-out success", "Of the checkpoints that exist, the highest success in held-out evaluation"],
  alone: [
    "neutral",
    "only one evaluated",
    "The only checkpoint with a held-out evaluation, so there is nothing to compare it with",
  ],
  below: [
    "warn",
    "below the start",
    "Of the checkpoints that exist, the highest success in held-out evaluation, but significantly below that before training",
  ],
  kept: [
    "watch",
    "kept for a rescue",
    "Older than the newest ones, and kept because it is the last one before a sign of trouble: a fork from here starts before it",
  ],
};

export class CheckpointsTab {
  constructor() {
    this.rows = byId("checkpoint-list");
    this.rows.addEventListener("click", press);
  }

  /** @param {RunPage} runPage */
  draw({ store, state }) {
    const { checkpoints } = store;
    const retained = new Set(retainedSteps(checkpoints));
    const rescue = new Set(keptForRescue(checkpoints, Number(this.rows.dataset.keep)));
    const best = bestOf(checkpoints);
    const standing = best === null ? null : standingOf(store, best);
    const requests = new Map((state.evaluation_requests ?? []).map((one) => [one.step, one]));
    const { fork = "", each = "", suites = "" } = this.rows.dataset;
    const rows = [...checkpoints].reverse().map((one) =>
      row(one, {
        retained: retained.has(one.step),
        marks: [standing && one.step === best ? mark(standing) : null, rescue.has(one.step) ? mark("kept") : null],
        results: heldOutOf(store, one.step),
        request: requests.get(one.step),
        fork: `${fork}&step=${one.step}`,
        address: `${each}${one.step}/`,
        suites: `${suites}&step=${one.step}`,
      }),
    );
    refreshRows(this.rows, rows.length ? rows : [none()], (one) => one.dataset.path);
  }
}

/**
 * Evaluate, or stop that. The state that follows comes over the socket.
 * @param {Event} event
 */
async function press(event) {
  const button = targetWithin(event, "button[data-address]");
  if (!(button instanceof HTMLButtonElement)) return;
  const before = [...button.childNodes];
  button.disabled = true;
  button.textContent = button.dataset.doing ?? "";
  const { error } = await postFields(button.dataset.address ?? "", {}, "The server did not answer. Try again.");
  if (!error) return;
  toast(error, { error: true });
  button.replaceChildren(...before);
  button.disabled = false;
}

/**
 * @param {CheckpointSaved} one
 * @param {object} options
 * @param {boolean} options.retained
 * @param {(Node | null)[]} options.marks
 * @param {HeldOutResult[]} options.results
 * @param {EvaluationRequest} [options.request]
 * @param {string} options.fork
 * @param {string} options.address
 * @param {string} options.suites
 */
function row(one, { retained, marks, results, request, fork, address, suites }) {
  return element(
    "tr",
    { "data-path": one.path },
    element("td", { class: "num", title: one.path }, String(one.step)),
    element("td", { class: "checkpoint-success" }, ...successOf(results)),
    element("td", {}, one.reason, ...marks),
    element("td", { class: "num" }, bytes(one.bytes)),
    element("td", { title: new Date(one.time * 1000).toLocaleString() }, ago(one.time)),
    retained
      ? element(
          "td",
          {},
          element("div", { class: "checkpoint-actions" }, ...actions(one.step, { request, fork, address, suites })),
        )
      : element("td", { class: "muted" }, "removed"),
  );
}

/**
 * @param {number} step
 * @param {{ request?: EvaluationRequest, fork: string, address: string, suites: string }} options
 */
function actions(step, { request, fork, address, suites }) {
  const small = "button button--small";
  const ofStep = (of = "") => element("span", { class: "visually-hidden" }, ` ${of} step ${step}`);
  const live = request && request.state !== "failed";
  const evaluate = live
    ? {
        class: small,
        type: "button",
        "data-address": `${address}evaluate/stop/`,
        "data-doing": "Stopping …",
        disabled: request.stopping,
      }
    : { class: small, type: "button", "data-address": `${address}evaluate/`, "data-doing": "Asking …" };
  return [
    element("a", { class: small, href: fork }, "Fork", ofStep("from")),
    element("button", evaluate, live ? "Stop evaluation" : "Evaluate now", ofStep()),
    element("a", { class: small, href: suites }, "On a suite", ofStep("evaluate")),
    element("a", { class: small, href: `${address}download/`, download: true }, "Download", ofStep()),
    request ? element("small", { class: live ? "muted" : "field-error" }, said(request)) : null,
  ];
}

/** @param {EvaluationRequest} request */
function said({ state, message, stopping }) {
  if (state === "failed") return `Evaluation failed: ${message}`;
  if (stopping) return "Stopping …";
  return state === "queued" ? "Waits for a worker" : "Evaluating; a live run takes in the result between two steps";
}

/** @param {HeldOutResult[]} results */
function successOf(results) {
  if (!results.length) return [element("span", { class: "muted" }, "not evaluated")];
  return results.map((result) => resultLine(result, results.length > 1));
}

/**
 * `0.53 [0.47, 0.59]` with its interval drawn.
 * @param {HeldOutResult} result
 * @param {boolean} named
 */
function resultLine({ environment, success, low, high, episodes, trained_on: seen, kind }, named) {
  const requested = kind === "checkpoint_evaluated" ? ", on request" : "";
  const note = seen ? ` ${seen} of them on problems that the run has trained on.` : "";
  const title = `95% interval ${percent(low)} to ${percent(high)} over ${episodes} episodes${requested}.${note}`;
  return element(
    "span",
    { class: "checkpoint-result", title },
    bar(success, low, high),
    element("span", { class: "mono" }, `${success.toFixed(2)} [${low.toFixed(2)}, ${high.toFixed(2)}]`),
    element("small", { class: "muted" }, `${named ? `${environment}, ` : ""}n = ${episodes}`),
  );
}

const WIDE = 100;

/**
 * @param {number} success
 * @param {number} low
 * @param {number} high
 */
function bar(success, low, high) {
  return svg(
    "svg",
    { class: "checkpoint-bar", viewBox: `0 0 ${WIDE} 12`, "aria-hidden": "true" },
    svg("path", { class: "checkpoint-scale", d: `M0.5 1 V11 M${WIDE / 2} 1 V11 M${WIDE - 0.5} 1 V11` }),
    svg("rect", { class: "checkpoint-interval", x: low * WIDE, y: 4, width: (high - low) * WIDE, height: 4, rx: 2 }),
    svg("rect", { class: "checkpoint-point", x: success * (WIDE - 2), y: 1, width: 2, height: 10 }),
  );
}

/** @param {string} kind */
function mark(kind) {
  const [tone, words, title] = MARKS[kind];
  return element("span", { class: `chip chip--${tone} checkpoint-mark`, title }, words);
}

function none() {
  return element("tr", {}, element("td", { colspan: 6, class: "muted" }, "None yet. Ask for one with Checkpoint."));
}
