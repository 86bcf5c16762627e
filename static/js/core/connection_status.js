// The dot that shows whether a page is connected.

import { byId } from "./dom.js";

/** @import { ConnectionState } from "../types.js" */

/** @type {Record<ConnectionState, string>} */
const WORDS = {
  live: "live",
  "catching-up": "catching up",
  polling: "reconnecting, polling meanwhile",
  stale: "not connected",
};

/**
 * @param {ConnectionState} state
 * @param {string | undefined} detail
 */
export function showConnection(state, detail) {
  const live = byId("live");
  live.dataset.state = state;
  live.textContent = detail ?? WORDS[state];
}
