// Steps that something is told of: one, or of a run that was thinned a stretch of them, from `first` to `step`.

export const stepsInWords = ({ first = Infinity, step }) => (first < step ? `steps ${first} to ${step}` : `step ${step}`);

/** The same as the list of trajectories is asked for them. */
export const stepsAsked = ({ first = Infinity, step }) =>
  first < step ? `step_low=${first}&step_high=${step}` : `step=${step}`;
