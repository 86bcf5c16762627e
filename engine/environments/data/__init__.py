"""The data sets that ship with the environments, and the scripts that write them. LICENSE.md says whose they are."""
