// Copies text and says so on the button; also on plain http, where browsers have no clipboard to offer.

const FEEDBACK = 1500; // milliseconds that the button shows the result

/**
 * @param {HTMLElement} button
 * @param {string} text
 */
export async function copyBy(button, text) {
  const words = (button.dataset.words ??= button.textContent ?? "");
  button.textContent = (await copied(text, button)) ? "Copied" : "Not copied: select it by hand";
  setTimeout(() => {
    button.textContent = words;
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
