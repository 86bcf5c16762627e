"""Every number that the verdict compares with. `RULES_VERSION` goes up whenever one changes, or how it is used."""

from __future__ import annotations

RULES_VERSION = 4

# Lost success: the newest steps against the best earlier ones. Each group of a step counts as one trial, since its
# members share a problem, and intervals are of 95%, those of the long windows of 99%.
NEWEST_STEPS = (3, 10)  # a fall shows over three steps, in small batches over ten
BEST_STEPS = 5  # the best window has as many steps or fewer
LONG_STEPS = 25  # the newest steps must be below the best window of so many as well, once there is one
LEAST_BEST = 0.1  # success that a run must have reached before it can collapse
COLLAPSING_SHARE = 0.5  # of the best window's success
COLLAPSED = 0.05  # success below it is gone

# The label: means over steps.
SHOWN_STEPS = 3  # first and newest means of the evidence are over this many steps in a row, and never overlap
TREND_STEPS = 10  # a trend is between the means of the first and the newest ten
ALERT_STEPS = 10  # an alert counts until its metric has been within the limit for this many steps
FORMAT_STEPS = 3
BROKEN_FORMAT = 0.5  # share of well-formed responses, mean of `FORMAT_STEPS`
SKIPPED_STEPS = 3  # steps in a row without a finite gradient
NO_SUCCESS_STEPS = 5  # steps after which missing success is reported
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
