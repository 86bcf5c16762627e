// Alert rules in the form of a new run: the editor's list travels as JSON in one field.

import { RuleEditor } from "./rule_editor.js";

const field = document.getElementById("rules-json");
const editor = new RuleEditor(document.getElementById("rule-editor"), keep);

function keep() {
  field.value = JSON.stringify(editor.value());
  field.dispatchEvent(new Event("input", { bubbles: true })); // the form is checked anew
}

field.value = JSON.stringify(editor.value());
