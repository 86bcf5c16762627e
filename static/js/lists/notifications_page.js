// The page of notifications: the one button that a server cannot do.

import { prepareNotifications } from "../core/browser_notifications.js";

prepareNotifications(document.getElementById("browser-notify"), document.getElementById("browser-notify-words"));
