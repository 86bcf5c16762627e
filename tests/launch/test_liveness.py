"""When a process that does not answer counts as hanging, by a clock of the test: after 120 s, or 300 s at a start."""

from __future__ import annotations

from workers.launch.liveness import Answer, Liveness, ProbeTimes


class Process:
    """One that is watched four times a second, about as by the launcher, and asked every ten seconds."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.liveness = Liveness(ProbeTimes(), self.now)

    def probe(self, answer: Answer, seconds: int) -> float | None:
        """After how many seconds of that answer it counts as one that hangs, if it does within `seconds`."""
        for asked in range(1, seconds // 10 + 1):
            for _ in range(40):
                self.now += 0.25
                self.liveness.tick(self.now)
            if self.liveness.note(answer, self.now):
                return asked * 10.0
        return None


def test_a_process_hangs_that_has_answered_and_then_has_not_for_two_minutes() -> None:
    process = Process()
    assert process.probe(True, 60) is None
    assert process.probe(False, 1000) == 120.0


def test_a_process_that_starts_has_five_minutes() -> None:
    assert Process().probe(False, 1000) == 300.0


def test_one_answer_in_time_is_enough() -> None:
    process = Process()
    for _ in range(20):
        assert process.probe(True, 10) is None
        assert process.probe(False, 110) is None


def test_a_process_that_cannot_be_probed_never_hangs() -> None:
    """A worker whose Redis is away."""
    process = Process()
    assert process.probe(True, 10) is None
    assert process.probe(None, 100_000) is None


def test_a_worker_whose_redis_returns_has_the_whole_time_to_announce_itself() -> None:
    process = Process()
    assert process.probe(True, 10) is None
    assert process.probe(False, 110) is None
    assert process.probe(None, 10) is None
    assert process.probe(False, 1000) == 120.0


def test_a_worker_that_starts_while_redis_is_away_has_the_time_of_a_start_once_it_is_back() -> None:
    process = Process()
    assert process.probe(None, 1000) is None
    assert process.probe(False, 1000) == 300.0


def test_after_a_gap_in_which_everything_stood_still_the_time_begins_again() -> None:
    """A paused virtual machine, or Ctrl-Z in the terminal of the launcher."""
    process = Process()
    assert process.probe(True, 10) is None
    assert process.probe(False, 110) is None
    process.now += 3600.0
    assert process.probe(False, 1000) == 130.0  # after 120 s it has not answered for 119.75 s since the gap was noticed


def test_a_machine_that_holds_the_launcher_up_too_ends_nothing() -> None:
    process = Process()
    assert process.probe(True, 10) is None
    for _ in range(100):
        process.now += 10.5  # more than the ten seconds that the launcher may be held up
        process.liveness.tick(process.now)
        assert not process.liveness.note(False, process.now)
