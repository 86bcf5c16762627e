// Copies text and shows the result on the button; also over plain http, where browsers offer no clipboard API.

const FEEDBACK = 1500; // milliseconds that the button shows the result

/**
 * @param {HTMLElement} button
 * @param {string} text
 */
export async function copyBy(button, text) {
  const label = (button.dataset.label ??= button.textContent ?? "");
  button.textContent = (await copied(text, button)) ? "Copied" : "Not copied: select it manually";
  setTimeout(() => {
    button.textContent = label;
  }, FEEDBACK);
}

/**
 * @param {string} text
 * @param {HTMLElement} button
 */
async function copied(text, button) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copiedBySelection(text, button); // no clipboard here, or no permission
  }
}

/**
 * Works everywhere: selects the text in a field and runs the browser's copy command.
 * @param {string} text
 * @param {HTMLElement} button
 */
function copiedBySelection(text, button) {
  const field = document.createElement("textarea");
  field.className = "visually-hidden";
  field.value = text;
  button.after(field);
  field.select();
  const done = document.execCommand("copy");
  field.remove();
  button.focus();
  return done;
}
