"""What tools/bench.sh measures: scenarios, the bars that they have to keep, and the cost curve."""
from typing import NamedTuple, Optional


class Bar(NamedTuple):
    """At most this. With above_floor, seconds beyond what an empty SimGrid engine takes."""
    seconds: float
    megabytes: Optional[float] = None
    above_floor: bool = False


class Case(NamedTuple):
    name: str
    scenario: str  # in scenarios/scale
    sets: tuple = ()  # PATH=VALUE
    bars: dict = {}  # Bar by fold
    folds: tuple = ("off", "auto")
    stock: bool = True  # whether the stock executor is tried


LIGHT = Bar(0.05, above_floor=True)

CASES = [
    Case("gpt3-1024", "gpt3-1024", bars={"off": Bar(0.2, 120), "auto": LIGHT}),
    Case("gpt3-1024-tp", "gpt3-1024-tp", bars={"off": Bar(2, 400), "auto": LIGHT}),
    # Stock is not tried: it refuses the same of them as of the first two, but takes all memory to
    # build their platforms.
    Case("gpt3-16384", "gpt3-16384", bars={"off": Bar(5, 500), "auto": Bar(0.2)}, stock=False),
    Case("gpt3-131072", "gpt3-131072", bars={"off": Bar(90, 3000), "auto": Bar(1, 300)},
         stock=False),
    Case("ring-1024-steps", "ring-1024-steps", bars={"off": Bar(3, 200)}),
    Case("alltoall-2048", "alltoall-2048", bars={"off": Bar(10, 2000)}),
    Case("random-4096", "random-4096", bars={"off": Bar(2)}),
    Case("random-65536", "random-65536", bars={"off": Bar(60)}),
]

# What the stock executor can run: whole bytes, weights of 1, no kernels slowed by communication.
EQUAL = "jobs.0.workload.size_max=null"
STOCK_CASES = [
    Case("ring of 64 ranks", "ring-1024-steps", ("cluster.servers=8",), folds=("off",)),
    Case("ring of 256 ranks", "ring-1024-steps", ("cluster.servers=32",), folds=("off",)),
    Case("1,024 equal messages", "random-4096", (EQUAL, "jobs.0.workload.messages=1024"),
         folds=("off",)),
    Case("4,096 equal messages", "random-4096", (EQUAL,), folds=("off",)),
]

QUICK_CASES = [
    Case("gpt on 64 GPUs", "gpt3-1024", ("cluster.servers=8", "jobs.0.workload.global_batch=32"),
         stock=False),
    Case("gpt on 256 GPUs", "gpt3-1024-tp",
         ("cluster.servers=32", "jobs.0.workload.global_batch=32"), stock=False),
    Case("ring of 32 ranks", "ring-1024-steps", ("cluster.servers=4",)),
    Case("all-to-all of 64 ranks", "alltoall-2048", ("cluster.servers=8",), stock=False),
    Case("256 messages", "random-4096", ("jobs.0.workload.messages=256",), stock=False),
    Case("256 equal messages", "random-4096", (EQUAL, "jobs.0.workload.messages=256")),
]

CURVE_GPUS = [2**k for k in range(8, 18)]
SLOPE_FROM = 1024  # below, the fixed cost of a process is most of it
SLOPE_BARS = {"off": 1.15, "auto": 0.2}
MICRO_BATCHES = (32, 32768)
MICRO_BATCH_BAR = 2.0


def curve_case(gpus):
    """GPT-3 with 32 micro-batches, its data parallelism grown to these GPUs."""
    for case in CASES[0], CASES[2], CASES[3]:
        if case.name == f"gpt3-{gpus}":
            return case
    pipeline = 8 if gpus <= 1024 else 16
    sets = [f"cluster.servers={gpus // 8}", f"jobs.0.workload.pipeline={pipeline}",
            f"jobs.0.workload.global_batch={32 * gpus // (8 * pipeline)}"]
    if gpus > 1024:
        sets.append("cluster.network.tiers=3")
    if gpus > 16384:
        sets.append("cluster.network.switch=sn5600")
    return Case(f"gpt3-{gpus}", "gpt3-1024", tuple(sets))


def micro_batch_case(micro_batches):
    """GPT-3 on 1,024 GPUs, 16 replicas of so many micro-batches."""
    return Case(f"{micro_batches:,} micro-batches", "gpt3-1024",
                (f"jobs.0.workload.global_batch={16 * micro_batches}",))
