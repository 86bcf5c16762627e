"""What operators and their tools ask: whether a process answers, whether the site can work, and how it is doing."""
