"""`{{ turn.parse|reply_fault }}`: what was wrong with a reply, in the glossary's words; empty for one without fault."""

from __future__ import annotations

from django import template

from engine.metrics import GLOSSARY

register = template.Library()


@register.filter
def reply_fault(case: str) -> str:
    if case == "ok":
        return ""
    metric = GLOSSARY.get(f"rollout/parse/{case}")
    return metric.title.removeprefix("Replies: ") if metric else case
