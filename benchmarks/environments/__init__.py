"""Speed of environments: steps, resets and new problems per second, next to other libraries, and by threads."""
