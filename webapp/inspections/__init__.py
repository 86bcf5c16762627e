"""Pages on language models before they are used."""
