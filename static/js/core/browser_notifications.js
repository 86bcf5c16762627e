// Notifications of this browser about alerts of a run whose page is open. Requested only by a button.

import { visible } from "./visible_text.js";

/** @import { AlertRaised } from "../types.js" */

const KEY = "starboard-notify"; // "on", "off", or "unable" where pages may not show any

const isPossible = () => "Notification" in window && window.isSecureContext && localStorage.getItem(KEY) !== "unable";

export const notifies = () =>
  isPossible() && Notification.permission === "granted" && localStorage.getItem(KEY) === "on";

/**
 * Shows a button that requests permission and turns them on and off, with a note.
 * @param {HTMLElement} button
 * @param {HTMLElement} note
 */
export function prepareNotifications(button, note) {
  const update = () => {
    button.hidden = !isPossible();
    button.textContent = notifies() ? "Stop notifying me in this browser" : "Notify me in this browser";
    note.textContent = explanation();
  };
  button.addEventListener("click", async () => {
    if (notifies()) localStorage.setItem(KEY, "off");
    else if ((await Notification.requestPermission()) === "granted") {
      localStorage.setItem(KEY, "on");
      show("Notifications are on", { body: "An alert of a run whose page is open will look like this." });
    }
    update();
  });
  update();
}

function explanation() {
  if (localStorage.getItem(KEY) === "unable") {
    return "Pages cannot show notifications in this browser, as on Android: use e-mail or a webhook.";
  }
  if (!isPossible()) return "This browser cannot show notifications here: they need https, or 127.0.0.1.";
  if (Notification.permission === "denied") {
    return "This browser blocks notifications: allow them in its settings for this site.";
  }
  return notifies() ? "Shown while a run's page is open in some tab." : "";
}

/**
 * One that is shown, or null: browsers of Android offer the class and refuse to make one.
 * @param {string} title
 * @param {NotificationOptions} options
 * @returns {Notification | null}
 */
function show(title, options) {
  try {
    return new Notification(visible(title), { ...options, body: visible(options.body ?? "") });
  } catch {
    localStorage.setItem(KEY, "unable");
    return null;
  }
}

/**
 * One notification for each alert; a click brings its evidence.
 * @param {AlertRaised[]} alerts
 * @param {string} name
 * @param {string} evidence
 */
export function notifyOf(alerts, name, evidence) {
  if (!notifies()) return;
  for (const alert of alerts) {
    const options = { body: `Step ${alert.step}: ${alert.message}`, tag: `${name} ${alert.seq}` };
    const shown = show(`${alert.severity}: ${name}`, options);
    shown?.addEventListener("click", () => {
      focus();
      location.assign(`${evidence}${alert.seq}/`);
    });
  }
}
