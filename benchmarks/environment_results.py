"""What scripted and random players, and the models that ship, reach in every environment.

    python -m benchmarks.environment_results players [KIND …]
    python -m benchmarks.environment_results train PRESET … [--seeds 1 2 3] [--keep DIR]
    python -m benchmarks.environment_results table

Each writes its part of `docs/environments/results.json`, and the tables `docs/environments/results.md` from all of it,
so that parts can be measured again. Players write their responses as text, which goes through prompts, parser, budgets
and records like a model's.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np

from benchmarks.environment_tables import tables
from benchmarks.seeds import CONFIGS, Outcome, recorded, train
from engine.config import EnvironmentConfig, read_config
from engine.environments.players import PLAYERS
from engine.environments.registry import ENVIRONMENTS, environment_class, environment_of
from engine.errors import StarboardError
from engine.models.tiny.imitation_data import ScriptedSampler
from engine.policies.loading import load_tokenizer
from engine.rollout.agent_proxy import AgentProxy
from engine.rollout.context_manager import ContextManager
from engine.rollout.env_state_manager import EpisodeSpec, chance_seed
from engine.rollout.environment_pool import local_environments
from engine.rollout.types import Trajectory

DOCS = Path(__file__).parent.parent / "docs" / "environments"
RESULTS, TABLES = DOCS / "results.json", DOCS / "results.md"
EPISODES, EPISODES_IF_LONG, LONG = 200, 40, 100  # episodes of more than so many actions are long
FIRST_SEED = 1_000_000_000  # held-out problems
SECONDS = 0.5  # of processor time, for the speed
UNLIMITED = 10**9
FEW_STEPS = 5  # at either end of a run, for success in training

Record = dict[str, Any]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    players = commands.add_parser("players", help="random and scripted players of every example")
    players.add_argument("kinds", nargs="*", metavar="KIND", help=f"of: {', '.join(ENVIRONMENTS)}")
    training = commands.add_parser("train", help="presets with several seeds")
    training.add_argument("presets", nargs="+", choices=sorted(path.stem for path in CONFIGS.glob("*.toml")))
    training.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    training.add_argument("--keep", type=Path, help="keep the run directories here, and train none again that is here")
    commands.add_parser("table", help="the tables from what is recorded")
    options = parser.parse_args()
    if options.command == "players":
        for kind in options.kinds or ENVIRONMENTS:
            record("players", kind, players_of(kind))
    elif options.command == "train":
        for preset in options.presets:
            for seed in options.seeds:
                with tempfile.TemporaryDirectory() as scratch:
                    run = trained(preset, seed, (options.keep or Path(scratch)) / f"{preset}-{seed}")
                record("training", preset, with_run(read()["training"].get(preset), preset, run))
    TABLES.write_text(tables(read()))
    return 0


def read() -> Record:
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else {"players": {}, "training": {}, "notes": {}}


def record(part: str, name: str, found: Record) -> None:
    """Writes one entry; the others stay as they are."""
    results = read()
    results[part][name] = found
    DOCS.mkdir(exist_ok=True)
    in_order = {key: dict(sorted(entries.items())) for key, entries in results.items()}
    RESULTS.write_text(json.dumps(in_order, indent=1) + "\n")
    print(part, name, json.dumps(found), flush=True)


def players_of(kind: str) -> Record:
    """Both players on each example of `kind`; for one that needs what does not ship, only what it needs."""
    cls = environment_class(kind)
    found: Record = {"title": cls.title, "needs": cls.needs, "examples": {}}
    for name, fields in cls.examples.items():
        config = EnvironmentConfig.model_validate({"kind": kind, "tag": name, **fields})
        try:
            environment_of(config).reset(seed=FIRST_SEED)
        except (StarboardError, ImportError, OSError) as error:
            found["examples"][name] = {"not_run": str(error).splitlines()[0]}
            continue
        played = {player: outcome(play(config, player)) for player in PLAYERS}
        found["examples"][name] = {**played, "steps_per_second": steps_per_second(config)}
    return found


def play(config: EnvironmentConfig, player: str) -> list[Trajectory]:
    """Held-out episodes whose responses `player` writes."""
    count = EPISODES_IF_LONG if config.max_actions > LONG else EPISODES
    specs = [
        EpisodeSpec(
            environment=config, group=index, member=0, seed=seed, chance_seed=chance_seed(seed, 0), split="held_out"
        )
        for index, seed in enumerate(range(FIRST_SEED, FIRST_SEED + count))
    ]
    context = ContextManager(load_tokenizer("tiny"), think=True)
    proxy = AgentProxy(context, think=True, max_context_tokens=UNLIMITED)
    episodes = proxy.players(specs)
    with local_environments(0) as environments:
        sampler = ScriptedSampler(environments.episodes, context, np.random.default_rng(1), player=PLAYERS[player])
        proxy.play(sampler, episodes, environments=environments)
    return [episode.trajectory for episode in episodes]


def outcome(trajectories: list[Trajectory]) -> Record:
    return {
        "episodes": len(trajectories),
        "problems": len({trajectory.problem for trajectory in trajectories}),
        "successes": sum(trajectory.success for trajectory in trajectories),
        "mean_return": round(sum(trajectory.raw_return for trajectory in trajectories) / len(trajectories), 3),
        "malformed": sum(turn.parsed.case != "ok" for trajectory in trajectories for turn in trajectory.turns),
        "faults": sum(trajectory.stop == "fault" for trajectory in trajectories),
    }


def steps_per_second(config: EnvironmentConfig) -> int:
    """Random steps per second of processor time, resets included, of the environment alone."""
    environment, rng = environment_of(config), np.random.default_rng(1)
    environment.reset(seed=FIRST_SEED)  # loads its data
    steps, seed, started = 0, FIRST_SEED, time.process_time()
    while time.process_time() - started < SECONDS:
        seed += 1
        environment.reset(seed=seed)
        for _ in range(config.max_actions):
            action = environment.resolve(environment.random_action(rng))
            steps += 1
            if action is None:
                continue
            _, _, terminated, truncated, _ = environment.step(action)
            if terminated or truncated:
                break
    return round(steps / (time.process_time() - started))


def trained(preset: str, seed: int, directory: Path) -> Outcome:
    return recorded(seed, directory) if directory.exists() else train(preset, seed, directory, [])


def with_run(known: Record | None, preset: str, run: Outcome) -> Record:
    """`known`, or a new entry, with one more run; the runs of other versions of the preset are left out."""
    config = read_config(CONFIGS / f"{preset}.toml")
    head = {
        "title": config.preset,
        "kind": config.environments[0].kind,
        "example": config.environments[0].tag,
        "model": config.model.path,
        "steps": run.steps[-1].step,
    }
    runs = known["seeds"] if known and head.items() <= known.items() else {}
    before, after = run.evaluations[0], run.evaluations[-1]
    shares = [step.metrics["rollout/success"] for step in run.steps]
    runs[str(run.seed)] = {
        "before": {"successes": before.successes, "episodes": before.episodes},
        "after": {"successes": after.successes, "episodes": after.episodes},
        "in_training": [round(mean(part), 3) for part in (shares[:FEW_STEPS], shares[-FEW_STEPS:])],
        "minutes": round(run.minutes, 1),
    }
    return {**head, "seeds": dict(sorted(runs.items(), key=lambda one: int(one[0])))}


if __name__ == "__main__":
    sys.exit(main())
