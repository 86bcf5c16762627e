// The form of a suite: buttons that arrange it, and the choice of an environment, get the definition from the server
// again; nothing is saved by them. Without scripts the same buttons load the page.

import { byId, find, findAll, targetWithin } from "../core/dom.js";
import { toast } from "../core/toast.js";
import { watchVariants } from "../forms/fields.js";

const form = byId("suite-form", HTMLFormElement);
let requests = 0;

/**
 * @param {string} action
 * @param {string} focus a selector of what has the focus next
 */
async function arrange(action, focus) {
  const mine = ++requests;
  const data = new FormData(form);
  data.set("action", action);
  const answer = await fetch("", { method: "POST", body: data }).catch(() => null);
  if (mine !== requests) return;
  if (!answer?.ok || answer.redirected) {
    toast("The server did not answer. Nothing is lost: try again.");
    return;
  }
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  byId("suite-definition").replaceWith(document.adoptNode(find(page, "#suite-definition")));
  const next = document.getElementById("suite-wrong") ?? form.querySelector(focus);
  if (next instanceof HTMLElement) next.focus();
}

form.addEventListener("click", (event) => {
  const button = targetWithin(event, "button[data-part]");
  if (!(button instanceof HTMLButtonElement)) return;
  event.preventDefault();
  const last = findAll(form, ".suite-item").length;
  const action = button.value.split("-")[0];
  const focus = { add: last, copy: last, remove: 0 }[action];
  arrange(button.value, focus === undefined ? `button[value="${button.value}"]` : `#suite-item-${focus} select`);
});
form.addEventListener("change", ({ target }) => {
  if (target instanceof HTMLSelectElement && "environment" in target.dataset) arrange("take", `[id="${target.id}"]`);
});
watchVariants(form);
document.getElementById("suite-wrong")?.focus();
