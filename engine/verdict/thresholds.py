"""Every number that the verdict compares with. `RULES_VERSION` goes up whenever one changes, or how it is used."""

from __future__ import annotations

RULES_VERSION = 1

# The label: means over steps.
RECENT_STEPS = 10  # first, newest and best means are over this many steps in a row
ALERT_STEPS = 50  # an alert counts for this many steps
FORMAT_STEPS = 3
BROKEN_FORMAT = 0.5  # share of well-formed responses, mean of `FORMAT_STEPS`
SKIPPED_STEPS = 3  # steps in a row without a finite gradient
NO_SUCCESS_STEPS = 5  # steps after which missing success is reported
LEAST_BEST = 0.1  # success that a run must have reached before it can collapse
COLLAPSED_SHARE = 0.5  # of the best mean of success
CONVERGED = 0.95
LEAST_MARGIN = 0.02  # a change of success that is smaller is none, however small its standard error
STANDARD_ERRORS = 2.0
STD_HEALTHY, STD_NEAR_ZERO = 0.5, 0.1  # shares of the first steps' within-group reward std

# Regimes: multiples of the first readings. The other two borders are the limits of the template-collapse rule.
ENTROPY_BLOW_UP = 1.5
VALID_THOUGHTS = 0.9

# Format changes: against the mean of the first steps, for `LASTING_STEPS` in a row.
LASTING_STEPS = 3
BASELINE_SHARE, LEAST_BASELINE, MOST_BASELINE = 5, 3, 10  # a fifth of the run, within these bounds
LENGTH_FACTOR = 1.5
CUT_OFF_GAIN = 0.05
PARSE_FACTOR = 0.9
INVALID_GAIN = 0.1
TURNS_FACTOR = 1.25
