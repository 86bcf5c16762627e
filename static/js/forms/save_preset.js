// Saves the settings in the form of a new run as a preset of the user's.

import { byId } from "../core/dom.js";
import { showErrors } from "./fields.js";

const form = byId("run-form", HTMLFormElement);
const panel = byId("save-preset", HTMLDetailsElement);

async function save() {
  const answer = await fetch(panel.dataset.save ?? "", {
    method: "POST",
    body: new FormData(form),
    headers: { Accept: "application/json" },
  }).catch(() => null);
  if (!answer) return showErrors(form, { "preset-name": "The server cannot be reached. Nothing was saved." });
  const { errors, location: saved } = await answer.json();
  if (saved) location.assign(saved);
  else showErrors(form, errors);
  return undefined;
}

byId("preset-save").addEventListener("click", save);
byId("preset-name").addEventListener("keydown", (event) => {
  if (event.key !== "Enter") return;
  event.preventDefault(); // it saves, and launches nothing
  save();
});
