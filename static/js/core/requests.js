// Calls to our own JSON endpoints.

import { findAll } from "./dom.js";

/** @import { FormAnswer } from "../types.js" */

/**
 * GETs JSON; null where there is none: the server did not answer, refused, or sent to the sign-in page.
 * @template T
 * @param {string} address
 * @returns {Promise<T | null>}
 */
export async function getJson(address) {
  const answer = await fetch(address, { headers: { Accept: "application/json" } }).catch(() => null);
  return answer?.ok && !answer.redirected ? answer.json().catch(() => null) : null;
}

/**
 * GETs a fragment of a page as elements; null where there is none.
 * @param {string} address
 * @returns {Promise<Node[] | null>}
 */
export async function getPage(address) {
  const answer = await fetch(address).catch(() => null);
  if (!answer?.ok || answer.redirected) return null;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  return [...page.body.children].map((one) => document.adoptNode(one));
}

/**
 * POSTs `data` with the token of its form and returns the JSON answer. An answer that is not JSON becomes
 * `{ok: false}` with the reason; an aborted call gives null.
 * @template {FormAnswer} T
 * @param {string} url
 * @param {FormData} data
 * @param {AbortSignal} [signal]
 * @returns {Promise<T | null>}
 */
export async function post(url, data, signal) {
  /** @param {string} message */
  const refused = (message) => /** @type {T} */ (/** @type {FormAnswer} */ ({ ok: false, errors: { "": [message] } }));
  try {
    const response = await fetch(url, { method: "POST", body: data, signal, headers: { Accept: "application/json" } });
    if (response.redirected) return refused("You are signed out. Sign in again, then reload this page.");
    const type = response.headers.get("Content-Type") ?? "";
    if (!type.includes("json")) return refused(`The server answered with status ${response.status}. Reload this page.`);
    return await response.json();
  } catch (error) {
    if (error instanceof Error && error.name === "AbortError") return null;
    return refused("The server cannot be reached. Check that it is running, then try again.");
  }
}

/**
 * POSTs fields for a button that is not in a form, and returns the JSON answer; `error` is `unanswered` where there is
 * none.
 * @template {object} T
 * @param {string} address
 * @param {Record<string, string>} fields
 * @param {string} unanswered
 * @returns {Promise<Partial<T> & { error?: string }>}
 */
export async function postFields(address, fields, unanswered) {
  const answer = await fetch(address, {
    method: "POST",
    headers: { Accept: "application/json", "X-CSRFToken": csrfToken() },
    body: new URLSearchParams(fields),
  }).catch(() => null);
  return (await answer?.json().catch(() => null)) ?? { error: unanswered };
}

/** The token of the page's forms. */
export function csrfToken() {
  const [field] = findAll(document, "input[name=csrfmiddlewaretoken]", HTMLInputElement);
  return field?.value ?? "";
}

/**
 * Every problem of an answer in one line, with the names of the fields.
 * @param {FormAnswer} answer
 */
export function problemsOf(answer) {
  return Object.entries(answer.errors ?? {})
    .flatMap(([field, reasons]) =>
      [reasons].flat().map((reason) => (label(field) ? `${label(field)}: ${reason}` : reason)),
    )
    .join(" ");
}

/** @param {string} field */
const label = (field) => (field === "__all__" ? "" : field.replace(/^parameters\./, "").replaceAll("_", " "));
