// Text from models, environments and users, shown as it is: invisible characters are named where they are, with the
// names that the server gives them (webapp/visible_text.py).

/* eslint-disable no-control-regex, no-misleading-character-class -- these are the characters that it looks for */
const HIDDEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ud800-\uf8ff\ufdd0-\ufdef\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}\u{f0000}-\u{10ffff}]/u;
/* eslint-enable no-control-regex, no-misleading-character-class */

/** @type {Record<number, string>} */
const NAMES = {
  0x00: "NUL",
  0x07: "BEL",
  0x08: "BS",
  0x0d: "CR",
  0x1b: "ESC",
  0x7f: "DEL",
  0xad: "SHY",
  0x200b: "ZWSP",
  0x200c: "ZWNJ",
  0x200d: "ZWJ",
  0x200e: "LRM",
  0x200f: "RLM",
  0x202a: "LRE",
  0x202b: "RLE",
  0x202c: "PDF",
  0x202d: "LRO",
  0x202e: "RLO",
  0x2066: "LRI",
  0x2067: "RLI",
  0x2068: "FSI",
  0x2069: "PDI",
  0xfeff: "BOM",
};

/** @param {string} character */
const nameOf = (character) => {
  const code = character.codePointAt(0) ?? 0;
  return NAMES[code] ?? `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
};

/**
 * `text` with each hidden character as `[RLO]` or `[U+E000]`. `element`, `svg` and `html` show all text through it.
 * @param {string | number} text
 */
export function visible(text) {
  const shown = String(text);
  if (!HIDDEN.test(shown)) return shown;
  return [...shown].map((character) => (HIDDEN.test(character) ? `[${nameOf(character)}]` : character)).join("");
}

/**
 * The same on one line, for titles and labels: newlines and tabs are signs too.
 * @param {string | number} text
 */
export const visibleString = (text) => visible(text).replaceAll("\n", "↵").replaceAll("\t", "⇥");

/**
 * `text` as nodes: plain runs as text, each hidden character as a marked span.
 * @param {string} text
 */
export function visibleText(text) {
  const fragment = document.createDocumentFragment();
  if (!HIDDEN.test(text)) {
    fragment.append(text);
    return fragment;
  }
  let plain = "";
  for (const character of text) {
    if (!HIDDEN.test(character)) {
      plain += character;
      continue;
    }
    fragment.append(plain, mark(nameOf(character)));
    plain = "";
  }
  fragment.append(plain);
  return fragment;
}

/**
 * Puts `text` in place of what `host` shows; its direction cannot leak into the surrounding text.
 * @param {HTMLElement} host
 * @param {string} text
 */
export function showText(host, text) {
  host.dir = "ltr";
  host.replaceChildren(visibleText(text));
}

/** @param {string} name */
function mark(name) {
  const span = document.createElement("span");
  span.className = "hidden-character";
  span.title = `An invisible character: ${name}`;
  span.textContent = name;
  return span;
}
