// The dot that says whether a page is connected.

const WORDS = {
  live: "live",
  "catching-up": "catching up",
  polling: "reconnecting, asking meanwhile",
  stale: "not connected",
};

export function showLive(word, detail) {
  const live = document.getElementById("live");
  live.dataset.state = word;
  live.textContent = detail ?? WORDS[word];
}
