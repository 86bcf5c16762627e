"""A rate with its interval, as text and as a bar."""

from __future__ import annotations

from django.template.loader import render_to_string

from webapp.rates import Rate


def test_texts_have_one_decimal() -> None:
    rate = Rate(86 / 256, 0.2809, 0.3958)
    assert (rate.percent, rate.interval) == ("33.6", "28.1–39.6%")


def test_the_bar_lies_within_the_scale() -> None:
    rate = Rate(0.5, 0.25, 0.75, width=120)
    assert (rate.bar_x, rate.bar_width, rate.point_x) == ("30.0", "60.0", "58.5")  # a mark of 3 around 60
    assert (Rate(0.0, 0.0, 0.1).point_x, Rate(1.0, 0.9, 1.0).point_x) == ("0.0", "197.0")
    html = render_to_string("components/interval.html", {"rate": rate, "colour": 3})
    assert 'viewBox="0 0 120 16"' in html and 'data-colour="3"' in html and 'aria-label="25.0–75.0%"' in html
