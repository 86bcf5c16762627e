"""The forms of a project's page."""

from __future__ import annotations

from django import forms

from webapp.members.services import LIFETIMES, LONGEST_DESCRIPTION
from webapp.projects.models import LONGEST_NAME, Role


class ProjectForm(forms.Form):
    name = forms.CharField(max_length=LONGEST_NAME, error_messages={"required": "Give it a name."})
    description = forms.CharField(
        max_length=LONGEST_DESCRIPTION, required=False, widget=forms.Textarea(attrs={"rows": 2})
    )


class InvitationForm(forms.Form):
    role = forms.ChoiceField(choices=Role.choices, initial=Role.VIEWER.value)
    days = forms.TypedChoiceField(choices=LIFETIMES, coerce=int, initial=7)
    email = forms.EmailField(required=False)
