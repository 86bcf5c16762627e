// What went wrong, newest first: alerts of the rules, and faults after which the run was started again, or was not.

import { element, icon } from "../core/dom.js";

// `places` has addresses: of the trajectories, of evidence, of the form of a fork, and goodStep(alert), the checkpoint
// from before it.
export function alertRows(alerts, faults, places) {
  const rows = [
    ...alerts.map((alert) => [alert.time, alertRow(alert, places)]),
    ...faults.map((fault) => [fault.time, faultRow(fault)]),
  ];
  return rows.sort(([one], [other]) => other - one).map(([, row]) => row);
}

function alertRow(alert, { trajectories, evidence, fork, goodStep }) {
  const good = goodStep(alert);
  return row(
    chip(alert.severity, "alert", capital(alert.severity)),
    alert.message,
    `step ${alert.step}${begun(alert)} · ${alert.rule} · ${alert.metric}${alert.action === "notify" ? "" : ` · then ${alert.action}`}`,
    link(`${evidence}${alert.seq}/`, "Evidence"),
    link(`${trajectories}?step=${alert.step}`, "Trajectories"),
    good === null ? null : link(`${fork}&step=${good}`, `Fork from step ${good}`),
  );
}

const begun = (alert) => (alert.since != null && alert.since < alert.step ? `, begun at ${alert.since}` : "");

function faultRow(fault) {
  const then = fault.restart ? `queued again: restart ${fault.restart} of ${fault.budget}` : "not queued again";
  const when = new Date(1000 * fault.time).toLocaleString();
  return row(
    chip("crashed", "crashed", "Fault"),
    fault.reason,
    `${when} · after step ${fault.step} of attempt ${fault.attempt} · ${then}`,
    link("#log", "Engine's log"),
  );
}

function row(mark, words, details, ...more) {
  const small = element("small", { class: "muted" }, details);
  return element("li", { class: "panel alert" }, mark, element("p", {}, words, element("br"), small), element("div", { class: "toolbar" }, ...more));
}

function chip(key, name, word) {
  return element("span", { class: `chip chip--${key}` }, icon(name), element("span", {}, word));
}

function link(href, words) {
  return element("a", { class: "button button--small", href }, words);
}

const capital = (word) => word[0].toUpperCase() + word.slice(1);
