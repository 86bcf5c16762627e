"""A step's seconds on GPUs, part by part: the same terms as in `phases`, with costs from hardware in layout of fitted
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
from engine.cluster.memory import VLLM_ROWS, learner_memory
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
class Layout:
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


def sampling(layout: Layout) -> float:
    """Prompts at the speed of products, responses at the speed at which weights and the cache are read."""
    shape, step, gpu, assumed = layout.shape, layout.step, layout.gpu, layout.assumed
    rows = ceil(step.sampler_share * step.trajectories)
    waves, at_once = ceil(rows / VLLM_ROWS), min(rows, VLLM_ROWS)
    speed = gpu.half * assumed.reading * layout.tensor_parallel
    given = step.sampler_share * (step.read - step.sampled)
    prompts = forward_operations(shape, tokens=given, length=step.length, scored=0) / speed
    cached = at_once * (step.length / 2) * 2 * shape.layers * shape.kv_heads * shape.head_size
    bytes_read = HALF * (shape.parameters + cached) / layout.tensor_parallel
    computed = forward_operations(shape, tokens=at_once, length=step.length, scored=at_once) / speed
    each = max(bytes_read / (gpu.bandwidth * assumed.memory), computed) + assumed.pass_seconds
    if layout.tensor_parallel > 1:
        sent = 2 * at_once * shape.hidden * HALF / (gpu.link * assumed.links)
        each += 2 * shape.layers * (sent + assumed.hop * 2 * (layout.tensor_parallel - 1))
    return prompts + waves * step.passes * each


def learning(layout: Layout, *, way_back: bool = True) -> float:
    """Layers in bfloat16, the head in float32, weights borrowed layer by layer beside it, AdamW at the end."""
    shape, step, gpu, assumed = layout.shape, layout.step, layout.gpu, layout.assumed
    counted = update_operations if way_back else forward_operations
    times = 3 if way_back else 1
    head = times * head_operations(shape, step.sampled)
    layers = counted(shape, tokens=step.tokens, length=step.length, scored=0) * (4 / 3 if way_back else 1)
    computed = layers / (gpu.half * assumed.learning) + head / (gpu.single * assumed.single)
    borrowed = step.rounds * times * borrowing(layout)
    stepped = 28.0 * shape.parameters / step.learners / (gpu.bandwidth * assumed.memory) if way_back else 0.0
    return max(step.learner_share * computed, borrowed) + stepped


def borrowing(layout: Layout) -> float:
    """Seconds until each learner had all weights once."""
    others = layout.learners - 1
    sent = FLOAT * layout.shape.parameters * others / layout.learners / layout.wire
    return sent + layout.assumed.hop * others * layout.shape.layers


def diagnostics(layout: Layout) -> float:
    """Of a step that has them: each learner computes all, and borrows the weights for each pass."""
    wanted, gpu = DIAGNOSED, layout.gpu
    scored = wanted["prompts"] * wanted["thoughts"] * wanted["thought"]
    tokens = wanted["prompts"] * wanted["prompt"] + scored
    length = wanted["prompt"] + wanted["thought"]
    layers = forward_operations(layout.shape, tokens=tokens, length=length, scored=0)
    computed = layers / (gpu.half * layout.assumed.reading)
    head = head_operations(layout.shape, scored) / (gpu.single * layout.assumed.single)
    return max(computed + head, 2 * wanted["prompts"] * borrowing(layout))


def sync_by_host(layout: Layout) -> float:
    """Gathered, copied to the machine's memory, put into Ray's store, sent from machine to machine, and loaded."""
    size, assumed = FLOAT * layout.shape.parameters, layout.assumed
    machines = ceil(layout.samplers * layout.tensor_parallel / PER_MACHINE)
    copies = 3 * size / assumed.copy  # into the machine's memory, into the store, and out of it
    hops = ceil(log2(machines + 1)) * size / assumed.transport
    return borrowing(layout) + 2 * size / layout.gpu.host + copies + hops


def sync_by_gpu(layout: Layout) -> float:
    """Gathered, and broadcast from one learner's GPU to the samplers' over its network card."""
    size = FLOAT * layout.shape.parameters
    return borrowing(layout) + size / (layout.gpu.network * layout.assumed.links)


def parts_of(layout: Layout, costs: Costs, *, by_gpu: bool = False) -> dict[str, float]:
    """Seconds of each part of a step; environments and what the driver does by measured costs."""
    step = layout.step
    here = {part: seconds_of(part, costs, layout.shape, step) for part in ("environment", "driver", "capture")}
    return {
        "sampling": sampling(layout),
        "environment": here["environment"],
        "scoring": learning(layout, way_back=False),
        "diagnostics": diagnostics(layout) / DIAGNOSED["every"],
        "learning": learning(layout),
        "driver": here["driver"],
        "capture": here["capture"],
        "sync": sync_by_gpu(layout) if by_gpu else sync_by_host(layout),
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


def best_layout(shape: ModelShape, gpus: int, trajectories: int, *, gpu: Gpu, costs: Costs) -> Layout:
    """The split of GPUs into samplers and learners, in eighths, with the shortest step."""
    layouts = split(shape, gpus, trajectories, gpu=gpu, assumed=Assumed())
    return min(layouts, key=lambda layout: step_seconds(parts_of(layout, costs)))


def split(shape: ModelShape, gpus: int, trajectories: int, *, gpu: Gpu, assumed: Assumed) -> Iterator[Layout]:
    wide = tensor_parallel(shape, gpu, assumed)
    for eighths in EIGHTHS:
        sampling_gpus = gpus * eighths // 8
        if sampling_gpus < wide or sampling_gpus % wide:
            continue
        layout = Layout(
            shape=shape,
            samplers=sampling_gpus // wide,
            learners=gpus - sampling_gpus,
            tensor_parallel=wide,
            trajectories=trajectories,
            micro_batch=MICRO_BATCHES[-1],
            gpu=gpu,
            assumed=assumed,
        )
        yield replace(layout, micro_batch=micro_batch(layout))


def tensor_parallel(shape: ModelShape, gpu: Gpu, assumed: Assumed) -> int:
    """GPUs of a sampler: as few as leave two fifths of its memory to the cache."""
    wide = 1
    while HALF * shape.parameters / wide > gpu.memory * assumed.memory_share * WEIGHTS:
        wide *= 2
    return wide


def micro_batch(layout: Layout) -> int:
    """The most tokens at once that a learner has room for; the least where it has room for none."""
    fitting = (tokens for tokens in MICRO_BATCHES if held(layout, tokens) <= layout.gpu.memory * layout.assumed.room)
    return next(fitting, MICRO_BATCHES[-1])


def held(layout: Layout, tokens: int) -> int:
    """Bytes of a learner at work, activations recomputed."""
    sampled = round(tokens * RESPONSE / (GIVEN + RESPONSE))
    found = learner_memory(
        layout.shape, tokens=tokens, sampled=sampled, half=True, checkpointing=True, learners=layout.learners, gpu=True
    )
    return found.lasting + found.gradients + max(found.activations + found.gathered, found.stepping)


def fits(layout: Layout) -> str:
    """Why a learner could not be, as the program is; nothing where it could."""
    room = layout.gpu.memory * layout.assumed.room
    if (size := held(layout, layout.micro_batch)) > room:
        return f"needs {size / 1e9:,.0f} GB"
    return ""
