// What went wrong, newest first: alerts of the rules, and faults, after which the run was restarted or not.

import { element, icon } from "../core/dom.js";

/** @import { AlertRaised, Fault } from "../types.js" */

/**
 * @typedef {object} AlertLinks
 * @property {string} trajectories address of the list
 * @property {string} evidence address below which each alert has its evidence
 * @property {string} fork address of the form of a fork; empty for a run that is trained elsewhere
 * @property {number} every steps between checkpoints; 0 if there is only the last
 * @property {(alert: AlertRaised) => number | null} goodStep the last checkpoint before the first sign of an alert
 */

/**
 * @param {AlertRaised[]} alerts
 * @param {Fault[]} faults
 * @param {AlertLinks} links
 */
export function alertRows(alerts, faults, links) {
  const rows = [
    ...alerts.map((alert) => ({ time: alert.time, item: alertRow(alert, links) })),
    ...faults.map((fault) => ({ time: fault.time, item: faultRow(fault) })),
  ];
  return rows.sort((one, other) => other.time - one.time).map(({ item }) => item);
}

/**
 * @param {AlertRaised} alert
 * @param {AlertLinks} alertLinks
 */
function alertRow(alert, { trajectories, evidence, fork, every, goodStep }) {
  const good = goodStep(alert);
  const rescue = `${fork}&alert=${alert.seq}`;
  return row(
    chip(alert.severity, "alert", capital(alert.severity)),
    alert.message,
    [
      `step ${alert.step}${begun(alert)} · ${alert.rule} · ${alert.metric}${alert.action === "notify" ? "" : ` · then ${alert.action}`}`,
      ...(good === null && fork ? [whyNone(signOf(alert), every)] : []),
    ],
    link(`${evidence}${alert.seq}/`, "Evidence"),
    link(`${trajectories}?step=${alert.step}`, "Trajectories"),
    ...(fork ? [good === null ? again(rescue) : link(`${rescue}&step=${good}`, `Fork from step ${good}`)] : []),
  );
}

/** @param {string} rescue */
const again = (rescue) => link(rescue, "Start again with changes");

/**
 * The first step of any sign that was open with the alert.
 * @param {AlertRaised} alert
 */
export const signOf = (alert) => alert.fork_before ?? alert.since ?? alert.step;

/**
 * Why no checkpoint is left from before a sign, and what to set so that there is one.
 * @param {number} sign
 * @param {number} every
 */
export function whyNone(sign, every) {
  const often = sign > 1 && (every === 0 || every >= sign);
  const advice = often ? ` Set checkpoint.every to ${sign - 1} or less to have one next time.` : "";
  return `There is no checkpoint from before step ${sign}, where the first sign began.${advice}`;
}

/** @param {AlertRaised} alertRaised */
const begun = ({ since, step }) => ((since ?? step) < step ? `, begun at ${since}` : "");

/** @param {Fault} fault */
function faultRow(fault) {
  const then = fault.restart ? `queued again: restart ${fault.restart} of ${fault.budget}` : "not queued again";
  const when = new Date(1000 * fault.time).toLocaleString();
  return row(
    chip("crashed", "crashed", "Fault"),
    fault.reason,
    [`${when} · after step ${fault.step} of attempt ${fault.attempt} · ${then}`],
    link("#log", "Engine's log"),
  );
}

/**
 * @param {Node} mark
 * @param {string} words
 * @param {string[]} details lines below them
 * @param {...Node} more
 */
function row(mark, words, details, ...more) {
  const small = details.flatMap((line) => [element("br"), element("small", { class: "muted" }, line)]);
  const text = element("p", {}, words, ...small);
  return element("li", { class: "panel alert" }, mark, text, element("div", { class: "toolbar" }, ...more));
}

/**
 * @param {string} key
 * @param {string} name
 * @param {string} word
 */
function chip(key, name, word) {
  return element("span", { class: `chip chip--${key}` }, icon(name), element("span", {}, word));
}

/**
 * @param {string} href
 * @param {string} words
 */
function link(href, words) {
  return element("a", { class: "button button--small", href }, words);
}

/** @param {string} word */
const capital = (word) => word[0].toUpperCase() + word.slice(1);
