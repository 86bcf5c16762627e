"""Projects and their members: pages, invitations, and which project something new belongs to."""
