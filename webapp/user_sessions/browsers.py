"""A browser and its system in two words, from the User-Agent that it sends."""

from __future__ import annotations

# the first that is found: Edge and Opera name Chrome too, Chrome names Safari, and Android names Linux
BROWSERS = {"Edg": "Edge", "OPR": "Opera", "Firefox": "Firefox", "Chrome": "Chrome", "Safari": "Safari", "curl": "curl"}
SYSTEMS = {
    "Android": "Android",
    "iPhone": "iPhone",
    "iPad": "iPad",
    "Windows": "Windows",
    "Mac OS X": "macOS",
    "CrOS": "ChromeOS",
    "Linux": "Linux",
}


def browser_name(agent: str) -> str:
    """`Firefox on Linux`."""
    browser = next((name for word, name in BROWSERS.items() if f"{word}/" in agent), "Unknown browser")
    system = next((name for word, name in SYSTEMS.items() if word in agent), "")
    return f"{browser} on {system}" if system else browser
