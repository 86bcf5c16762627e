// The reader's link to the question what if: of the turn that is shown when it is followed.

import { readPlace } from "./address.js";

const link = document.getElementById("reader-what-if");
link?.addEventListener("click", () => {
  const { turn } = readPlace();
  const address = new URL(link.href);
  if (turn) address.searchParams.set("turn", turn);
  link.href = address.href;
});
