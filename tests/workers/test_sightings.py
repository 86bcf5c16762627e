"""What lasts for some time, by the monotonic clock of the worker that watches it; times are worked out by hand."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from workers.sightings import Sightings

LEASE = 30.0
RENEWED = datetime(2026, 5, 1, 12, tzinfo=UTC)


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def seen_at(sightings: Sightings, clock: Clock, *seconds: float, renewal: datetime = RENEWED) -> list[bool]:
    answers = []
    for second in seconds:
        clock.now = 1000.0 + second
        answers.append(sightings.see("a", (1, renewal), LEASE))
    return answers


def test_a_lease_has_expired_once_it_was_seen_unchanged_for_its_duration() -> None:
    clock = Clock()
    assert seen_at(Sightings(clock), clock, 0, 10, 20, 29.9, 30) == [False, False, False, False, True]


def test_a_renewal_begins_it_again_whatever_time_it_says() -> None:
    clock = Clock()
    sightings = Sightings(clock)
    for jump in (timedelta(hours=1), timedelta(hours=-1), timedelta(days=1), timedelta(days=-1)):
        clock.now = 1000.0
        assert seen_at(sightings, clock, 0, 20, renewal=RENEWED + jump) == [False, False]
    assert seen_at(sightings, clock, 40, renewal=RENEWED) == [False]


def test_sightings_with_a_long_gap_prove_nothing() -> None:
    clock = Clock()
    assert seen_at(Sightings(clock), clock, 0, 31, 50, 61) == [False, False, False, True]  # 61 is 30 after 31


def test_each_run_has_sightings_of_its_own() -> None:
    clock = Clock()
    sightings = Sightings(clock)
    assert seen_at(sightings, clock, 0, 20) == [False, False]
    assert not sightings.see("b", (1, RENEWED), LEASE)
    assert seen_at(sightings, clock, 30) == [True]


def test_a_short_wait_forgets_no_sighting_of_a_long_one() -> None:
    clock = Clock()
    sightings = Sightings(clock)
    assert not sightings.see("job", "cookie", 3600)
    clock.now += 1800
    assert not sightings.see("run", 1, 5)
    clock.now += 1800
    assert sightings.see("job", "cookie", 3600)
