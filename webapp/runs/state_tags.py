"""The template filter that has the labels of run states."""

from __future__ import annotations

from django import template

from webapp.runs.states import SHOWN_LABELS

register = template.Library()


@register.filter
def state_label(state: str) -> str:
    """`Finished · collapsed` of `collapsed`."""
    return SHOWN_LABELS[state]
