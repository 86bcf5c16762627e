"""Questions with one right answer: where they come from, how answers are compared, and episodes of tries."""
