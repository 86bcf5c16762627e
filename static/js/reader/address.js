// The place that an address names: `#t=2&k=17&by=entropy` is turn 2, token 17, coloured by entropy.

const SHADES = ["advantage", "entropy", "probability", "mask"];

/** `turn` counts from 1 and `token` from 0; a part that is missing or makes no sense is null, or "" for the colour. */
export function readPlace(address = location) {
  const named = new URLSearchParams(address.hash.slice(1));
  const older = new URLSearchParams(address.search).get("turn");
  const shade = named.get("by") ?? "";
  return {
    turn: whole(named.get("t") ?? older),
    token: whole(named.get("k")),
    shade: SHADES.includes(shade) ? shade : "",
  };
}

/** Writes the place into the address without a step in the history, and the turn into the links to other members. */
export function writePlace({ turn, token, shade }, links) {
  const address = new URL(location.href);
  address.searchParams.delete("turn");
  address.hash = hash({ turn, token, shade });
  history.replaceState(null, "", address);
  for (const link of links) {
    const target = new URL(link.href);
    target.hash = hash({ turn, token: null, shade });
    link.href = target.href;
  }
}

function hash({ turn, token, shade }) {
  const parts = [["t", turn], token === null ? null : ["k", token], shade ? ["by", shade] : null];
  return parts
    .filter(Boolean)
    .map(([name, value]) => `${name}=${value}`)
    .join("&");
}

const whole = (text) => (text !== null && /^\d{1,9}$/.test(text) ? Number(text) : null);
