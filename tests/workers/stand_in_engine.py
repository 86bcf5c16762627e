"""A real process that speaks the run directory's protocol and learns nothing: fast, and configured to misbehave.

Its behaviour comes from the run's `description`, as `key=value` words: `step_seconds=0.05 crash_at=5 exit_code=3
leave_child=1 leave_stranger=1 ignore_stop=1 ignore_term=1 torn_at=4 hang_at=3 silent=1 fail_at=2 fault_at=2 die_after=3
save_seconds=5` (of its last checkpoint), `on_cluster=1`, `fork_at=8` (a rule requests a fork there, of an alert since
`fork_since=6`). It crashes in its first attempt only (`crash_at`, `torn_at`, `fault_at`) or in each, after so many
steps (`die_after`). It imports nothing of the product, so that it follows the protocol independently.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import NoReturn

import zstandard

CHECKPOINT_EVERY = 5
GROUPS, MEMBERS = 2, 3
DETACHED = "import os, time\nif os.fork(): os._exit(0)\nos.setsid()\nif os.fork(): os._exit(0)\ntime.sleep(3600)"


class StandIn:
    def __init__(self, run_dir: Path, resume: bool) -> None:
        self.run_dir = run_dir
        self.config = json.loads((run_dir / "config.json").read_text())
        words = dict(word.split("=") for word in self.config["description"].split())
        self.behaviour = {key: float(value) for key, value in words.items()}
        self.attempt = int(os.environ["STARBOARD_ATTEMPT"])
        self.epoch = int(os.environ["STARBOARD_EPOCH"])
        self.step = self.done = 0
        self.phase = "loading"
        self.checkpoints_seen = 0
        self.resumed_from = self._newest_checkpoint() if resume else None
        self.seq = max(self._last_seq(), int(os.environ["STARBOARD_LAST_SEQ"]))
        self.events = (run_dir / "events.jsonl").open("ab", buffering=0)

    def main(self) -> int:
        if self.behaviour.get("exit_code"):
            sys.stderr.write("stand-in: no model at /nowhere\n")
            return int(self.behaviour["exit_code"])
        threading.Thread(target=self._beat_forever, daemon=True).start()
        if self.behaviour.get("leave_child"):
            self._leave_a_child()
        if self.behaviour.get("leave_stranger"):
            self._leave_a_child_without_a_trace()
        self.emit(
            "run_started",
            total_steps=self.config["steps"],
            resumed_from=self.resumed_from,
            pid=os.getpid(),
            device="cpu",
            model="stand-in",
            parameters=0,
            versions={},
        )
        self.step = self.done = self.resumed_from or 0
        while self.step < self.config["steps"]:
            if self._stop_requested():
                self._checkpoint("final")
                self.emit("run_finished", outcome="stopped", reason="Stopped on request.")
                return 0
            self._one_step()
            if self.step == self.behaviour.get("fork_at"):
                return self._end_for_a_fork()
        self.emit(
            "evaluation_completed",
            environment="FrozenLake",
            episodes=8,
            successes=4,
            success=0.5,
            low=0.2,
            high=0.8,
            mean_return=0.5,
            first_seed=1_000_000_000,
            temperature=1.0,
            seconds=0.1,
            final=True,
        )
        self._checkpoint("final")
        self.emit("run_finished", outcome="completed", reason=f"All {self.config['steps']} steps were made.")
        if self.behaviour.get("on_cluster"):
            self.emit("cluster_released", message="The cluster shows nothing of the run.", proven=True)
        return 0

    def _end_for_a_fork(self) -> int:
        since = int(self.behaviour["fork_since"])
        self.emit(
            "alert_raised", rule="broken", severity="critical", message="It broke.", metric="reward/mean", value=0.0,
            baseline=None, since=since, action="fork",
        )  # fmt: skip
        self._checkpoint("final")
        self.emit("run_finished", outcome="collapsed", reason="broken: It broke.", fork_before=since)
        return 0

    def leave(self, _signal: int, _frame: object) -> None:
        """As the engine does when the machine ends it: a checkpoint, no final report, exit status 3."""
        self.step = self.done
        self._checkpoint("final")
        os._exit(3)

    def _one_step(self) -> None:
        self.step += 1
        self._misbehave()
        self._change_phase("rollout")
        path = f"trajectories/train/step_{self.step}.jsonl.zst"
        self._write_file(self.run_dir / path)
        self.emit("trajectories_recorded", split="train", path=path, count=GROUPS * MEMBERS)
        time.sleep(self.behaviour.get("step_seconds", 0.05))
        self._change_phase("update")
        self.emit(
            "step_completed",
            metrics={"reward/mean": self.step / 100, "time/step": 0.05},
            tokens=100 * self.step,
            seconds=0.05 * self.step,
            skipped="",
        )
        self.done = self.step
        if self.step % CHECKPOINT_EVERY == 0:
            self._checkpoint("schedule")

    def _misbehave(self) -> None:
        first = self.attempt == 1
        if self.step - (self.resumed_from or 0) - 1 == self.behaviour.get("die_after"):
            os.kill(os.getpid(), signal.SIGKILL)
        if first and self.step == self.behaviour.get("fault_at"):
            self._fail("RetryableFault", "A node is gone.", retryable=True)
        if first and self.step == self.behaviour.get("torn_at"):
            self.events.write(b'{"seq": 999, "kind": "step_com')
            os.kill(os.getpid(), signal.SIGKILL)
        if first and self.step == self.behaviour.get("crash_at"):
            os.kill(os.getpid(), signal.SIGKILL)
        if self.step == self.behaviour.get("fail_at"):
            self._fail("EnvironmentFault", "It raised.")
        if self.step == self.behaviour.get("hang_at"):
            time.sleep(3600)

    def _fail(self, error: str, message: str, **more: bool) -> NoReturn:
        self.emit("run_failed", error=error, message=message, remedy="Fix it.", traceback="", **more)
        sys.exit(1)

    def emit(self, kind: str, **fields: object) -> None:
        head = {
            "seq": self.seq + 1,
            "time": time.time(),
            "attempt": self.attempt,
            "epoch": self.epoch,
            "step": self.step,
        }
        self.events.write(json.dumps({"kind": kind, **head, **fields}).encode() + b"\n")
        self.seq += 1

    def _change_phase(self, phase: str) -> None:
        self.phase = phase
        self.emit("phase_changed", phase=phase, detail="")

    def _stop_requested(self) -> bool:
        """Reads `control.json`; waits while paused; writes a requested checkpoint."""
        while True:
            control = json.loads((self.run_dir / "control.json").read_text())
            if control["epoch"] >= self.epoch:
                self.epoch = control["epoch"]
                if control["checkpoint"] > self.checkpoints_seen:
                    self.checkpoints_seen = control["checkpoint"]
                    self._checkpoint("request")
            if control["request"] == "stop" and not self.behaviour.get("ignore_stop"):
                return True
            if control["request"] != "pause":
                return False
            if self.phase != "paused":
                self._change_phase("paused")
            time.sleep(0.05)

    def _checkpoint(self, reason: str) -> None:
        if reason == "final":
            self._change_phase("checkpoint")
            time.sleep(self.behaviour.get("save_seconds", 0))
        path = f"checkpoints/step_{self.step}"
        (self.run_dir / path).mkdir(parents=True, exist_ok=True)
        (self.run_dir / path / "manifest.json").write_text("{}")  # of no files
        self.emit("checkpoint_saved", path=path, bytes=1, reason=reason)

    def _newest_checkpoint(self) -> int | None:
        steps = [int(path.name.removeprefix("step_")) for path in self.run_dir.glob("checkpoints/step_*")]
        return max(steps, default=None)

    def _last_seq(self) -> int:
        path = self.run_dir / "events.jsonl"
        lines = path.read_bytes().splitlines() if path.exists() else []
        return json.loads(lines[-1])["seq"] if lines else 0

    def _write_file(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        records = [self._record(group, member) for group in range(GROUPS) for member in range(MEMBERS)]
        frames = [zstandard.compress(json.dumps(record).encode() + b"\n") for record in records]
        path.write_bytes(b"".join(frames))

    def _record(self, group: int, member: int) -> dict[str, object]:
        return {
            "id": f"train-{self.step}-{group}-{member}", "step": self.step, "split": "train",
            "environment": "FrozenLake", "kind": "frozen_lake", "group": group, "member": member, "seed": 10 + group,
            "success": member == 0, "return": float(member == 0), "penalty": 0.0, "score": float(member == 0),
            "advantage": None, "kept": None, "group_std": 0.5, "stop": "max_turns", "optimal_length": None,
            "tokens": {"ids": [1, 2], "text": ["a", "b"], "sampled": [0, 1]},
            "turns": [{"index": 0, "parse": "ok"}, {"index": 1, "parse": "no_answer"}],
        }  # fmt: skip

    def _beat_forever(self) -> None:
        stat = Path("/proc/self/stat").read_text()
        identity = {
            "pid": os.getpid(), "start_time": int(stat[stat.rindex(")") + 2 :].split()[19]),
            "boot_id": Path("/proc/sys/kernel/random/boot_id").read_text().strip(),
            "cookie": os.environ["STARBOARD_RUN"], "attempt": self.attempt,
        }  # fmt: skip
        while not self.behaviour.get("silent"):
            beat = {"time": time.time(), **identity, "epoch": self.epoch, "step": self.step, "phase": self.phase}
            temporary = self.run_dir / "heartbeat.json.new"
            temporary.write_text(json.dumps({**beat, "seq": self.seq}))
            temporary.replace(self.run_dir / "heartbeat.json")
            time.sleep(0.2)

    def _leave_a_child(self) -> None:
        """Double fork with a session of its own: neither our process group nor parentage leads to it."""
        subprocess.run([sys.executable, "-c", DETACHED], check=True)

    def _leave_a_child_without_a_trace(self) -> None:
        """The same with a cleared environment, so that it has no cookie either; its pid is in the file `detached`."""
        script = DETACHED.replace("time.sleep", "open('detached', 'w').write(str(os.getpid())); time.sleep")
        subprocess.run([sys.executable, "-I", "-c", script], check=True, env={}, cwd=self.run_dir)


def run() -> int:
    run_dir = Path(sys.argv[sys.argv.index("--run-dir") + 1])
    lock = (run_dir / "lock").open("w")
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    engine = StandIn(run_dir, resume="--resume" in sys.argv)
    signal.signal(signal.SIGTERM, signal.SIG_IGN if engine.behaviour.get("ignore_term") else engine.leave)
    return engine.main()


if __name__ == "__main__":
    sys.exit(run())
