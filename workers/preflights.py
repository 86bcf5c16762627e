"""Pre-flights: problems of an environment, played before a run."""

from __future__ import annotations

import json

from webapp.environments.models import Preflight
from workers.control import write_json
from workers.held_jobs import HeldJob, Outcome

PLAYER_SECONDS = 300.0
MODEL_SECONDS = 1800.0
PLAYER_MIB = 4096  # a model needs what it needs
LARGEST_REPORT = 8 << 20


class HeldPreflight(HeldJob[Preflight]):
    """The engine's report is stored as it grows."""

    model = Preflight
    again = "Start it again."

    def seconds(self) -> float:
        return MODEL_SECONDS if self.job.model else PLAYER_SECONDS

    def timed_out(self) -> Outcome:
        return self.failed(f"It took longer than {self.seconds():g} s.", "Play fewer problems or rollouts.")

    def prepare(self) -> list[str]:
        job, folder = self.job, self.job.folder.resolve()
        folder.mkdir(parents=True, exist_ok=True)
        write_json(folder / "config.json", job.config)
        who = ["--model", job.model] if job.model else ["--player", job.player]
        limit = [] if job.model else ["--memory-mib", str(PLAYER_MIB)]
        return [
            "preflight", str(folder / "config.json"), *who, *limit, "--problems", str(job.problems),
            "--rollouts", str(job.rollouts), "--first-seed", str(job.first_seed), "--out", str(folder / "report.json"),
        ]  # fmt: skip

    def look(self) -> None:
        """What has been played so far, if it is more than the row has."""
        path = self.job.folder / "report.json"
        try:
            if path.is_symlink() or path.stat().st_size > LARGEST_REPORT:
                return
            report = json.loads(path.read_text(encoding="utf-8").replace("\\u0000", "\\ufffd"))
        except (OSError, ValueError):
            return
        if report != self.job.report:
            self.job.report = report
            Preflight.objects.filter(pk=self.job.pk).update(report=report)
