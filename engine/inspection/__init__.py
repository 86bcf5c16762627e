"""What a model is and what it would need, found out before it is used: `inspect_model`."""
