"""`make run`: sets Starboard up on a bare machine and runs all of its parts until Ctrl-C."""
