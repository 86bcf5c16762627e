// The page of notifications: the button for notifications of this browser.

import { prepareNotifications } from "../core/browser_notifications.js";
import { byId } from "../core/dom.js";

prepareNotifications(byId("browser-notify"), byId("browser-notify-note"));
