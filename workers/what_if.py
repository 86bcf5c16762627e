"""What-ifs: forks of a recorded trajectory, whose text pages show as the engine writes it."""

from __future__ import annotations

from engine.what_if.events import Failed, Finished, Refused
from webapp.jobs import JobState
from webapp.whatif import services
from webapp.whatif.models import WhatIf
from webapp.whatif.origins import origin_of
from workers.control import write_json
from workers.held_jobs import CannotStart, HeldJob, Outcome, a_run_needs_the_gpu, storable
from workers.tail import log_tail

LOADING_SECONDS = 300.0  # in addition to the seconds of sampling, which the engine limits itself
SUMMARY = {"turns", "success", "episode_return", "stop"}  # fields of the last event that the row has
CHOSEN = ("turn", "edit", "text", "checkpoint", "temperature", "seed")


class HeldWhatIf(HeldJob[WhatIf]):
    """An update is published whenever the engine's file has grown."""

    model = WhatIf
    again = "Submit it again."
    look_seconds = 0.05  # the engine gathers text for as long

    def __init__(self, job: WhatIf) -> None:
        super().__init__(job)
        self.published = 0  # bytes of the engine's file

    def seconds(self) -> float:
        return LOADING_SECONDS + services.MOST_SECONDS

    def timed_out(self) -> Outcome:
        return self.failed("It timed out.", "Use a smaller model, or submit it again when the machine is less busy.")

    def prepare(self) -> list[str]:
        origin = origin_of(self.job)
        if origin is None or origin.obstacle():
            reason = origin.obstacle() if origin else "The trajectory that it forks no longer exists."
            raise CannotStart(reason, "Fork a trajectory that is listed.")
        device = "cpu" if a_run_needs_the_gpu() else "auto"
        request = services.request_of(origin, {name: getattr(self.job, name) for name in CHOSEN}, device=device)
        folder = self.job.folder.resolve()
        folder.mkdir(parents=True, exist_ok=True)
        write_json(folder / "request.json", request.model_dump(mode="json"))
        return ["what-if", str(folder / "request.json"), "--out", str(folder)]

    def look(self) -> None:
        if (written := services.bytes_written(self.job)) != self.published:
            self.published = written
            self.job.publish()

    def outcome(self, exit_status: int) -> Outcome:
        """From the engine's last event, or else from the end of its log."""
        match services.last_event(self.job):
            case Finished() as event:
                summary = event.model_dump(include=SUMMARY)
                return {"state": JobState.FINISHED, "message": storable(event.note), "summary": summary}
            case Refused(message=message, remedy=remedy):
                return {"state": JobState.REFUSED, "message": storable(message), "remedy": storable(remedy)}
            case Failed(message=message, remedy=remedy):
                return self.failed(message, remedy)
            case _:
                lines = log_tail(self.job.log).strip().splitlines()[-1:]
                return self.failed(
                    f"The engine ended with exit status {exit_status} and reported no result.", " ".join(lines)[:500]
                )

    def failed(self, message: str, remedy: str = "") -> Outcome:
        """Pages show the remedy on its own."""
        return {"state": JobState.FAILED, "message": storable(message), "remedy": storable(remedy)}

    def raised(self, error: Exception) -> Outcome:
        return self.failed(f"{type(error).__name__}: {error}", "The traceback is in the worker's log.")
