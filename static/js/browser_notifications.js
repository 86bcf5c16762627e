// Notifications of this browser about alerts of a run whose page is open. Asked for by a button, never by itself.

const KEY = "starboard-notify";

const can = () => "Notification" in window && window.isSecureContext;

export const notifies = () => can() && Notification.permission === "granted" && localStorage.getItem(KEY) === "on";

/** Shows a button that asks for permission and turns them on and off, with words beside it. */
export function prepareNotifications(button, words) {
  const show = () => {
    button.hidden = !can();
    button.textContent = notifies() ? "Stop notifying me in this browser" : "Notify me in this browser";
    words.textContent = told();
  };
  button.addEventListener("click", async () => {
    if (notifies()) localStorage.setItem(KEY, "off");
    else if ((await Notification.requestPermission()) === "granted") localStorage.setItem(KEY, "on");
    show();
  });
  show();
}

function told() {
  if (!can()) return "This browser cannot show notifications here: they need https, or 127.0.0.1.";
  if (Notification.permission === "denied") return "This browser refuses them: allow them in its settings for this site.";
  return notifies() ? "Shown while a run's page is open in some tab." : "";
}

/** One notification for each alert; a click brings its evidence. */
export function notifyOf(alerts, name, evidence) {
  if (!notifies()) return;
  for (const alert of alerts) {
    const made = new Notification(`${alert.severity}: ${name}`, {
      body: `Step ${alert.step}: ${alert.message}`,
      tag: `${name} ${alert.seq}`,
    });
    made.addEventListener("click", () => {
      focus();
      location.assign(`${evidence}${alert.seq}/`);
    });
  }
}
