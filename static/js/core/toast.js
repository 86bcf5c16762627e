// A short notice in the corner; errors stay until they are read and clicked away.

import { element } from "./dom.js";

export function toast(text, { error = false } = {}) {
  const made = element(
    "div",
    { class: error ? "toast toast--error" : "toast", role: error ? "alert" : "status" },
    text,
  );
  made.addEventListener("click", () => made.remove());
  document.getElementById("toasts").append(made);
  if (!error) setTimeout(() => made.remove(), 4000);
}
