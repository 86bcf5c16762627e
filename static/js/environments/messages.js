// Prompts as the model gets them: a block per message, with its role and its exact text.

import { html } from "../core/html.js";
import { showText } from "../core/visible_text.js";

/** @import { Message } from "../types.js" */

/**
 * @param {HTMLElement} host
 * @param {Message[]} messages
 */
export function showMessages(host, messages) {
  host.replaceChildren(
    ...messages.map(({ role, content }) => {
      const text = html("pre", "model-text");
      showText(text, content);
      return html("div", "message", {}, html("span", "message-role", { textContent: role }), text);
    }),
  );
}
