// A short notice in the corner; errors stay until they are read and clicked away.

import { byId, element } from "./dom.js";

/**
 * @param {string} text
 * @param {{ error?: boolean }} [options]
 */
export function toast(text, { error = false } = {}) {
  const made = element(
    "div",
    { class: error ? "toast toast--error" : "toast", role: error ? "alert" : "status" },
    text,
  );
  made.addEventListener("click", () => made.remove());
  byId("toasts").append(made);
  if (!error) setTimeout(() => made.remove(), 4000);
}
