"""Adapters for collections of environments by others. Each needs a package that is not installed by default."""
