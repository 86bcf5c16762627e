"""Forms out of pydantic classes: `fields` reads a class as inputs, `values` fills them in and reads what was posted.

Runs, environments and alert rules use these; the templates are in `templates/forms/`.
"""
