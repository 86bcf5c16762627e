"""TextWorld: games that Microsoft's TextWorld makes here from a seed. Needs the extra `alfworld`."""
