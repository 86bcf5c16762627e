// The reader's what-if link: about the turn that is shown when it is followed.

import { findAll } from "../core/dom.js";
import { readPosition } from "./address.js";

const [link] = findAll(document, "#reader-what-if", HTMLAnchorElement);
link?.addEventListener("click", () => {
  const { turn } = readPosition();
  const address = new URL(link.href);
  if (turn) address.searchParams.set("turn", String(turn));
  link.href = address.href;
});
