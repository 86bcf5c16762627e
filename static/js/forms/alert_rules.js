// Alert rules in the form of a new run: the editor's rules are sent as JSON in one field.

import { byId } from "../core/dom.js";
import { RuleEditor } from "./rule_editor.js";

const field = byId("rules-json", HTMLTextAreaElement);
const editor = new RuleEditor(byId("rule-editor"), store);

function store() {
  field.value = JSON.stringify(editor.value());
  field.dispatchEvent(new Event("input", { bubbles: true })); // the form is checked again
}

field.value = JSON.stringify(editor.value());
