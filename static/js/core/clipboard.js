// Copies text and says so on the button; also on plain http, where browsers have no clipboard to offer.

const SAID = 1500; // milliseconds that the button says what became of it

export async function copyBy(button, text) {
  const words = (button.dataset.words ??= button.textContent);
  button.textContent = (await copied(text, button)) ? "Copied" : "Not copied: select it by hand";
  setTimeout(() => {
    button.textContent = words;
  }, SAID);
}

async function copied(text, button) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copiedBySelection(text, button); // no clipboard here, or no permission
  }
}

// The old way, which works everywhere: what is selected in a field, copied as by its menu.
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
