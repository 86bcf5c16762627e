"""The pages that define a suite: a form, and the same definition as TOML. Each can be turned into the
other, and errors in either lose nothing."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from engine.suites.resolve import SuiteDraft
from webapp.members.choices import project_for_new
from webapp.projects.access import fetch, readable
from webapp.projects.models import Role
from webapp.suites import catalogue
from webapp.suites.definition_text import STARTER, definition_of, plain_of, renamed, written
from webapp.suites.drafts import Errors, WrongFields, draft_of, read_toml
from webapp.suites.forms import SuiteForm
from webapp.suites.models import Suite, SuiteVersion
from webapp.whole_numbers import whole_number

FORM, TOML = "form", "toml"  # the two sides of the page


@require_http_methods(["GET", "HEAD", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    """GET shows a definition to begin with, of the suite `from` if there is one; POST defines the suite."""
    project_for_new(request.user)
    base = readable(Suite.objects.filter(name=request.GET.get("from", ""))).first()
    text = renamed(definition_of(base.latest), f"{base.name}-2") if base else STARTER
    return _Page(request, None).answer(text)


@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: HttpRequest, name: str) -> HttpResponse:
    """The next version of a suite, which does not ship."""
    suite = fetch(Suite, needs=Role.EDITOR, name=name, built_in=False)
    return _Page(request, suite).answer(definition_of(suite.latest))


class _Page:
    """One request: `side` is what is shown, `text` the definition as TOML, `form` as inputs."""

    def __init__(self, request: HttpRequest, suite: Suite | None) -> None:
        self.request, self.suite = request, suite
        self.user = request.user if isinstance(request.user, User) else None
        self.side = FORM
        self.text = ""
        self.form: SuiteForm | None = None
        self.errors: Errors = {}

    def answer(self, text: str) -> HttpResponse:
        if self.request.method != "POST":
            self._show(text)
            return self._page()
        self.text = self.request.POST.get("definition", "").replace("\r\n", "\n")
        self.side = TOML if self.request.POST.get("side", TOML) == TOML else FORM
        if self.side == FORM:
            self.form = SuiteForm.of_post(self.request.POST, self.request.user)
        action, _, index = self.request.POST.get("action", "save").partition("-")
        if action == "save":
            return self._save()
        if action in (FORM, TOML):
            self._turn(action)
        elif self.form is not None:
            self._arrange(action, whole_number(index))
        return self._page()

    def _show(self, text: str) -> None:
        """A stored definition, in the form unless an environment of it no longer exists."""
        self.text = text
        try:
            self.form = SuiteForm.of_draft(self._draft_of_text(), self.request.user)
        except WrongFields as wrong:
            self.side, self.errors = TOML, wrong.errors

    def _turn(self, side: str) -> None:
        """Shows the other side, if this one is correct."""
        try:
            draft = self._draft()
        except WrongFields as wrong:
            self.errors = wrong.errors
            return
        if side == FORM:
            self.form = SuiteForm.of_draft(draft, self.request.user)
        else:
            self.text = self._text_of(draft)
        self.side = side

    def _arrange(self, action: str, index: int | None) -> None:
        form = self.form
        if form is None:
            return
        if action == "add" and not form.is_full:
            form.add()
        elif action == "remove" and index is not None and len(form.items) > 1:
            form.remove(index)
        elif action == "copy" and index is not None:
            form.copy(index)

    def _save(self) -> HttpResponse:
        before = self.suite.latest if self.suite else None
        try:
            draft = self._draft()
            made = catalogue.save(draft, self._text_of(draft), self.request.user, suite=self.suite)
        except WrongFields as wrong:
            self.errors = wrong.errors
            return self._page(status=422)
        messages.success(self.request, _said(made, before))
        return redirect("suites:detail", made.suite.name)

    def _draft(self) -> SuiteDraft:
        if self.form is None:
            return self._draft_of_text()
        data = self.form.data
        if wrong := {**self.form.unseen, **self.form.unread}:
            raise WrongFields(wrong)
        return draft_of(data, self.user, name=self._fixed_name)

    def _draft_of_text(self) -> SuiteDraft:
        return draft_of(read_toml(self.text), self.user, name=self._fixed_name)

    @property
    def _fixed_name(self) -> str:
        return self.suite.name if self.suite else ""

    def _text_of(self, draft: SuiteDraft) -> str:
        """As it was written, with its comments, if it is still the same definition."""
        if self.side == TOML:
            return self.text
        try:
            same = plain_of(self._draft_of_text()) == plain_of(draft)
        except WrongFields:
            same = False
        return self.text if same else written(draft)

    def _page(self, status: int = 200) -> HttpResponse:
        form = self.form if self.side == FORM else None
        others = list(self.errors.items())
        if form is not None:
            others = list(form.show({**form.unread, **self.errors}).items())
        context: dict[str, Any] = {
            "suite": self.suite,
            "latest": self.suite.latest if self.suite else None,
            "side": self.side,
            "text": self.text,
            "form": form,
            "errors": self.errors,
            "others": [(name, why) for name, why in others if name != "definition"],
            "wrong_text": self.errors.get("definition", ""),
        }
        return render(self.request, "suites/new.html", context, status=status)


def _said(made: SuiteVersion, before: SuiteVersion | None) -> str:
    if before is None:
        return f"{made.suite.name} is ready. Its problems are fixed."
    if made.number != before.number:
        return f"Saved as version {made.number}. Evaluations on version {before.number} keep it."
    return f"Version {made.number} is saved."
