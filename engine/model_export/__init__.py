"""A checkpoint of a run as a plain Hugging Face directory, with a model card (`engine export`)."""
