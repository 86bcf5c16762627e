"""Sweeps: which configurations they train with which seeds, and what their results say. No Django, no torch.

| question | file |
|---|---|
| which settings take which values | `axes` |
| what a sweep is, and how large it may be | `plan` |
| which points are trained | `points` |
| whether each is a configuration that can run | `configurations` |
| which point an adaptive search tries next | `adaptive` |
| which configurations end early | `pruning` |
| the effect of an axis, the best configuration | `effects` |
| its question, notes and curves | `text` |
| sweeps that ship | `catalogue` |
"""
