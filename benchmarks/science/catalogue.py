"""The experiments, by name. Small enough for two cores; docs/findings.md discusses what each can show."""

from __future__ import annotations

from benchmarks.science.experiment import Arm, Experiment, of_sweep, sweep

LEAN = ("evaluation.every=0", "evaluation.final_episodes=512", "checkpoint.keep=1", "capture.every=0")
SHORT = ("steps=60", "diagnostics.gradients_every=10", *LEAN)
REVERSED = "environments.0.parameters.reversed=true"
BANDIT = ("environments.0.kind='bandit'", "environments.0.tag='Bandit'", "environments.0.max_turns=1")
# a learning rate that rises in a straight line, from the first step on, to fifty times that of the starter run
RAMP = (
    "optimizer.learning_rate=1e-2", "optimizer.warmup_steps=25", "optimizer.updates_per_step=4",
    "loss.entropy_coefficient=0.0", "diagnostics.every=2",
    "evaluation.every=5", "evaluation.episodes=128", "evaluation.final_episodes=256", "checkpoint.every=1",
)  # fmt: skip
ALGORITHMS = {"PPO": "ppo", "GRPO": "grpo", "StarPO": "starpo", "StarPO-S": "starpo_s"}

_ALL = (
    Experiment(
        name="filter_mass",
        question="How much of the variance mass should the filter keep?",
        changes=("filter.type='top_p'", *SHORT),
        arms=(
            Arm(label="no filter", changes=("filter.type='none'",)),
            *sweep("filter.value", {"0.9": "0.9", "0.6": "0.6", "0.3": "0.3"}),
            Arm(label="0.9, softmax", changes=("filter.value=0.9", "filter.mode='softmax'")),
        ),
        curves=("rollout/success", "filter/kept_ratio", "optim/grad_norm"),
    ),
    Experiment(
        name="largest_or_smallest",
        question="Does it matter that the filter keeps the groups with the largest reward std?",
        changes=("filter.type='top_k'", "filter.value=0.5", "filter.include_zero=true", *SHORT),
        arms=sweep("filter.largest", {"largest reward std": "true", "smallest reward std": "false"}),
        curves=("rollout/success", "optim/grad_norm", "policy/entropy"),
    ),
    of_sweep(
        "action_budget",
        question="How many actions should one turn take?",
        curves=("rollout/success", "rollout/turns", "policy/entropy"),
    ),
    Experiment(
        name="responses_per_prompt",
        question="Many problems, or many trajectories of each?",
        changes=SHORT,
        arms=tuple(
            Arm(label=f"{groups} x {size}", changes=(f"rollout.groups={groups}", f"rollout.group_size={size}"))
            for groups, size in ((64, 2), (32, 4), (16, 8), (4, 32))
        ),
        curves=("rollout/success", "reward/within_group_std", "optim/grad_norm"),
    ),
    Experiment(
        name="online",
        question="What does it cost to reuse a batch of rollouts?",
        changes=SHORT,
        arms=tuple(
            Arm(label=f"online-{epochs}, {60 // epochs} rollouts", changes=(f"optimizer.epochs={epochs}", *changes))
            for epochs, changes in ((1, ()), (5, ("steps=12",)), (10, ("steps=6",)))
        ),
        curves=("rollout/success", "policy/clip_fraction", "policy/entropy"),
    ),
    Experiment(
        name="think",
        question="Do thoughts help on the bandit, and on the bandit with misleading names?",
        changes=(*BANDIT, *SHORT),
        arms=tuple(
            Arm(
                label=f"{'reversed' if turned else 'bandit'}, {'thoughts' if think else 'no thoughts'}",
                changes=(f"rollout.think={str(think).lower()}", *([REVERSED] if turned else [])),
            )
            for turned in (False, True)
            for think in (True, False)
        ),
        curves=("rollout/success", "policy/entropy", "reward/within_group_std"),
    ),
    Experiment(
        name="rare_wins",
        question="Why does GRPO learn the arm that pays less?",
        changes=(*BANDIT, REVERSED, *SHORT),
        arms=(
            Arm(label="GRPO"),
            Arm(label="GRPO, no std scaling", changes=("algorithm.type='dr_grpo'",)),
            Arm(label="RLOO", changes=("algorithm.type='rloo'",)),
        ),
        curves=("rollout/success", "policy/entropy", "reward/within_group_std"),
    ),
    Experiment(
        name="slip_rate",
        question="How much does a stochastic environment hide the learning signal?",
        changes=SHORT,
        arms=tuple(
            Arm(
                label=f"slip {1 - rate:.1f}{', filtered' if keep else ''}",
                changes=(
                    f"environments.0.parameters.success_rate={rate}",
                    *(("filter.type='top_p'", "filter.value=0.9") if keep else ()),
                ),
            )
            for rate in (1.0, 0.8, 0.6)
            for keep in (False, True)
        ),
        curves=("rollout/success", "reward/within_group_std", "collapse/mi_ratio"),
    ),
    Experiment(
        name="gradient_by_reward_std",
        question="Do groups with a larger reward std have a larger task gradient, and no larger entropy gradient?",
        changes=SHORT,
        arms=(Arm(label="starter"),),
        curves=("gradient/all/task", "gradient/all/entropy", "rollout/success"),
        means=tuple(
            f"gradient/bucket_{number}/{what}" for what in ("reward_std", "task", "entropy") for number in range(1, 7)
        ),
    ),
    Experiment(
        name="stability_lake",
        question="Which algorithm remains stable at ten times the starter learning rate?",
        changes=("steps=40", "optimizer.learning_rate=2e-3", *LEAN),
        arms=tuple(Arm(label=label, preset=preset) for label, preset in ALGORITHMS.items()),
        curves=("rollout/success", "policy/entropy", "collapse/mi_ratio", "optim/grad_norm"),
    ),
    Experiment(
        name="stability_bandit",
        question="And on the bandit, at five and ten times the learning rate?",
        changes=(*BANDIT, "steps=60", *LEAN),
        arms=tuple(
            Arm(label=f"{label}, {rate}", preset=preset, changes=(f"optimizer.learning_rate={rate}",))
            for rate in ("1e-3", "2e-3")
            for label, preset in ALGORITHMS.items()
        ),
        curves=("rollout/success", "policy/entropy", "reward/within_group_std", "optim/grad_norm"),
    ),
    Experiment(
        name="along_a_collapse",
        question="Which metric falls first in a collapse?",
        changes=("steps=26", *RAMP),
        arms=(Arm(label="collapse"),),
        seeds=(1, 2, 3, 4, 5),
        curves=("rollout/success", "collapse/mi_ratio", "policy/entropy", "rollout/parse_ok_rate"),
    ),
)
EXPERIMENTS = {experiment.name: experiment for experiment in _ALL}
