"""Projects: who may read and change what belongs to them. Their pages are in `webapp.members`."""
