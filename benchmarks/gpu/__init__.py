"""Scripts for machines with GPUs; each runs on a processor with `--small`, and prints one JSON line."""
