"""Calls on environments from outside a run, such as a preview or an episode played by hand, in a process that may be
killed: an environment may be anybody's code, and may hang, print or eat memory.

`calls` has the calls, `server` answers them on stdin and stdout, `helper` starts such a process and limits it.
"""
