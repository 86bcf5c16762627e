// Prompts as the model gets them: a block per message, its role named, its text as it is.

import { html } from "../core/html.js";
import { showText } from "../core/visible_text.js";

/** Shows `[{role, content}]` in `host`. */
export function showMessages(host, messages) {
  host.replaceChildren(
    ...messages.map(({ role, content }) => {
      const text = html("pre", "model-text");
      showText(text, content);
      return html("div", "message", {}, html("span", "message-role", { textContent: role }), text);
    }),
  );
}
