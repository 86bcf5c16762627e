// The messages of a prompt, each in a block of its own. Who wrote one is recorded; nothing is read from its text.

import { html } from "../core/html.js";
import { showText, visibleString } from "../core/visible_text.js";

/** @import { Message } from "../types.js" */

/** @param {Message[]} messages */
export function messageList(messages) {
  return html("ol", "messages", {}, ...messages.map(message));
}

/** @param {Message} message */
function message({ role, content }) {
  const text = html("pre", "model-text");
  showText(text, content);
  return html("li", "", {}, html("p", "message-role muted", { textContent: visibleString(role) }), text);
}
