"""The one place that computes intervals, tests and pass@k. All intervals are 95%; rates are 0 to 1.

| question | file |
|---|---|
| one success rate, or the difference of two that are independent | `proportions` |
| several samples per prompt | `clustered`, `pass_at_k` |
| the mean of something skewed, such as returns | `bootstrap` |
| one score per training seed | `means` |
| two entries on the same seeds | `paired` |
| two evaluations, on the problems that both played | `shared_problems` |
| every two of many entries, problem by problem | `all_pairs`; by returns, turns or tokens `weighted_pairs` |
| many comparisons at once | `multiple_comparisons` |
| ranks, and ties of entries | `ranks` |
| one configuration, over training seeds and over problems | `seeds_and_problems` |
| measures of an evaluation beside success, over problems | `measures` |
| updates or seconds to a success rate | `time_to_success` |
| results against what they cost | `pareto` |

scipy takes most of a second to import, so functions import it where they need it: Wilson and Newcombe do without.
"""
