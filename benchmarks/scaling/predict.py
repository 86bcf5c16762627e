"""A step's seconds on GPUs, part by part: the same terms as in `phases`, with costs from hardware in place of fitted
ones. What processors do stays as it was measured: environments, the driver, capture.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from math import ceil, log2

from benchmarks.operations import forward_operations, head_operations, update_operations
from benchmarks.scaling.hardware import PER_MACHINE, Assumed, Gpu
from benchmarks.scaling.phases import seconds_of
from benchmarks.scaling.steps import Step
from engine.cluster.learner_memory import learner_memory
from engine.cluster.memory import VLLM_ROWS
from engine.policies.model_shape import ModelShape

FLOAT, HALF = 4, 2  # bytes
GROUP_SIZE, TURNS = 16, 5
GIVEN, RESPONSE = 150, 250  # tokens that a turn begins with, and of its response
MICRO_BATCHES = (16384, 8192, 4096, 2048)
WEIGHTS = 0.6  # of a sampler's memory, at most
EIGHTHS = (1, 2, 3, 4, 5, 6, 7)
DIAGNOSED = {"every": 5, "prompts": 8, "thoughts": 32, "thought": 150, "prompt": 300}  # the first three by default
Costs = dict[str, dict[str, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """What is trained on how many GPUs; `samplers` of `tensor_parallel` GPUs each."""

    shape: ModelShape
    samplers: int
    learners: int
    tensor_parallel: int
    trajectories: int
    micro_batch: int
    gpu: Gpu
    assumed: Assumed = field(default_factory=Assumed)

    @property
    def step(self) -> Step:
        length = TURNS * (GIVEN + RESPONSE)
        return Step(
            trajectories=self.trajectories,
            group_size=GROUP_SIZE,
            turns=self.trajectories * TURNS,
            tokens=self.trajectories * length,
            sampled=self.trajectories * TURNS * RESPONSE,
            prompted=self.trajectories * GIVEN,
            passes=TURNS * RESPONSE,
            parts=ceil(self.trajectories / max(1, self.micro_batch // length)),
            samplers=self.samplers,
            learners=self.learners,
        )

    @property
    def wire(self) -> float:
        """Bytes a second that reach each process of a collective operation of all learners. Across machines the eight
        cards of each feed all its GPUs."""
        gpu = self.gpu
        fastest = gpu.link if self.learners <= PER_MACHINE else min(gpu.link, gpu.network * PER_MACHINE)
        return fastest * self.assumed.links


def sampling(placement: Placement) -> float:
    """Prompts at the speed of products, responses at the speed at which weights and the cache are read."""
    shape, step, gpu, assumed = placement.shape, placement.step, placement.gpu, placement.assumed
    rows = ceil(step.sampler_share * step.trajectories)
    waves, at_once = ceil(rows / VLLM_ROWS), min(rows, VLLM_ROWS)
    speed = gpu.half * assumed.reading * placement.tensor_parallel
    given = step.sampler_share * (step.read - step.sampled)
    prompts = forward_operations(shape, tokens=given, length=step.length, scored=0) / speed
    cached = at_once * (step.length / 2) * 2 * shape.layers * shape.kv_heads * shape.head_size
    bytes_read = HALF * (shape.parameters + cached) / placement.tensor_parallel
    computed = forward_operations(shape, tokens=at_once, length=step.length, scored=at_once) / speed
    each = max(bytes_read / (gpu.bandwidth * assumed.memory), computed) + assumed.pass_seconds
    if placement.tensor_parallel > 1:
        sent = 2 * at_once * shape.hidden * HALF / (gpu.link * assumed.links)
        each += 2 * shape.layers * (sent + assumed.hop * 2 * (placement.tensor_parallel - 1))
    return prompts + waves * step.passes * each


def learning(placement: Placement, *, way_back: bool = True) -> float:
    """Layers in bfloat16, the head in float32, weights borrowed layer by layer beside it, AdamW at the end."""
    shape, step, gpu, assumed = placement.shape, placement.step, placement.gpu, placement.assumed
    counted = update_operations if way_back else forward_operations
    times = 3 if way_back else 1
    head = times * head_operations(shape, step.sampled)
    layers = counted(shape, tokens=step.tokens, length=step.length, scored=0) * (4 / 3 if way_back else 1)
    computed = layers / (gpu.half * assumed.learning) + head / (gpu.single * assumed.single)
    borrowed = step.rounds * times * borrowing(placement)
    stepped = 28.0 * shape.parameters / step.learners / (gpu.bandwidth * assumed.memory) if way_back else 0.0
    return max(step.learner_share * computed, borrowed) + stepped


def borrowing(placement: Placement) -> float:
    """Seconds until each learner had all weights once."""
    others = placement.learners - 1
    sent = FLOAT * placement.shape.parameters * others / placement.learners / placement.wire
    return sent + placement.assumed.hop * others * placement.shape.layers


def diagnostics(placement: Placement) -> float:
    """Of a step that has them: each learner computes all, and borrows the weights for each pass."""
    wanted, gpu = DIAGNOSED, placement.gpu
    scored = wanted["prompts"] * wanted["thoughts"] * wanted["thought"]
    tokens = wanted["prompts"] * wanted["prompt"] + scored
    length = wanted["prompt"] + wanted["thought"]
    layers = forward_operations(placement.shape, tokens=tokens, length=length, scored=0)
    computed = layers / (gpu.half * placement.assumed.reading)
    head = head_operations(placement.shape, scored) / (gpu.single * placement.assumed.single)
    return max(computed + head, 2 * wanted["prompts"] * borrowing(placement))


def sync_by_host(placement: Placement) -> float:
    """Gathered, copied to the machine's memory, put into Ray's store, sent from machine to machine, and loaded."""
    size, assumed = FLOAT * placement.shape.parameters, placement.assumed
    machines = ceil(placement.samplers * placement.tensor_parallel / PER_MACHINE)
    copies = 3 * size / assumed.copy  # into the machine's memory, into the store, and out of it
    hops = ceil(log2(machines + 1)) * size / assumed.transport
    return borrowing(placement) + 2 * size / placement.gpu.host + copies + hops


def sync_by_gpu(placement: Placement) -> float:
    """Gathered, and broadcast from one learner's GPU to the samplers' over its network card."""
    size = FLOAT * placement.shape.parameters
    return borrowing(placement) + size / (placement.gpu.network * placement.assumed.links)


def parts_of(placement: Placement, costs: Costs, *, by_gpu: bool = False) -> dict[str, float]:
    """Seconds of each part of a step; environments and what the driver does by measured costs."""
    step = placement.step
    here = {part: seconds_of(part, costs, placement.shape, step) for part in ("environment", "driver", "capture")}
    return {
        "sampling": sampling(placement),
        "environment": here["environment"],
        "scoring": learning(placement, way_back=False),
        "diagnostics": diagnostics(placement) / DIAGNOSED["every"],
        "learning": learning(placement),
        "driver": here["driver"],
        "capture": here["capture"],
        "sync": sync_by_gpu(placement) if by_gpu else sync_by_host(placement),
    }


SAMPLERS = ("sampling", "environment")


def step_seconds(parts: dict[str, float]) -> float:
    """With the rollout a step ahead: samplers on one side, all else on the other, and the sync between two steps."""
    ahead = sum(parts[part] for part in SAMPLERS)
    learned = sum(seconds for part, seconds in parts.items() if part not in (*SAMPLERS, "sync"))
    return max(ahead, learned) + parts["sync"]


def bottleneck(parts: dict[str, float]) -> str:
    """The part without which the step would be shortest."""
    return min(parts, key=lambda part: step_seconds({**parts, part: 0.0}))


def best_placement(shape: ModelShape, gpus: int, trajectories: int, *, gpu: Gpu, costs: Costs) -> Placement:
    """The split of GPUs into samplers and learners, in eighths, with the shortest step."""
    placements = split(shape, gpus, trajectories, gpu=gpu, assumed=Assumed())
    return min(placements, key=lambda placement: step_seconds(parts_of(placement, costs)))


def split(shape: ModelShape, gpus: int, trajectories: int, *, gpu: Gpu, assumed: Assumed) -> Iterator[Placement]:
    wide = tensor_parallel(shape, gpu, assumed)
    for eighths in EIGHTHS:
        sampling_gpus = gpus * eighths // 8
        if sampling_gpus < wide or sampling_gpus % wide:
            continue
        placement = Placement(
            shape=shape,
            samplers=sampling_gpus // wide,
            learners=gpus - sampling_gpus,
            tensor_parallel=wide,
            trajectories=trajectories,
            micro_batch=MICRO_BATCHES[-1],
            gpu=gpu,
            assumed=assumed,
        )
        yield replace(placement, micro_batch=micro_batch(placement))


def tensor_parallel(shape: ModelShape, gpu: Gpu, assumed: Assumed) -> int:
    """GPUs of a sampler: as few as leave two fifths of its memory to the cache."""
    wide = 1
    while HALF * shape.parameters / wide > gpu.memory * assumed.memory_share * WEIGHTS:
        wide *= 2
    return wide


def micro_batch(placement: Placement) -> int:
    """The most tokens at once that a learner has room for; the least where it has room for none."""
    fitting = (
        tokens for tokens in MICRO_BATCHES if held(placement, tokens) <= placement.gpu.memory * placement.assumed.room
    )
    return next(fitting, MICRO_BATCHES[-1])


def held(placement: Placement, tokens: int) -> int:
    """Bytes of a learner at work, activations recomputed."""
    sampled = round(tokens * RESPONSE / (GIVEN + RESPONSE))
    found = learner_memory(
        placement.shape,
        tokens=tokens,
        sampled=sampled,
        half=True,
        checkpointing=True,
        learners=placement.learners,
        gpu=True,
    )
    return found.lasting + found.gradients + max(found.activations + found.gathered, found.stepping)


def fits(placement: Placement) -> str:
    """Why a learner could not be, as the program is; nothing where it could."""
    room = placement.gpu.memory * placement.assumed.room
    if (size := held(placement, placement.micro_batch)) > room:
        return f"needs {size / 1e9:,.0f} GB"
    return ""
