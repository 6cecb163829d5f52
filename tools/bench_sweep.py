"""The sweep of scenarios/sweeps/gpt3-network.json: how long it takes, and what its parent holds."""
import os
import subprocess
import sys
import tempfile
import time

SCENARIO = os.path.join("scenarios", "scale", "gpt3-1024.json")
SWEEP = os.path.join("scenarios", "sweeps", "gpt3-network.json")
VARIANTS = 2000
FEW = ["--axis", "jobs.0.workload.global_batch=128:1280:+128",  # 10 x 4 x 5
       "--axis", "jobs.0.workload.pipeline=4,8,16,32",
       "--axis", "cluster.network.link_latency=50 ns,100 ns,200 ns,500 ns,1 us"]
SECONDS_BAR, GROWTH_BAR = 300, 1.2


def peak_of(pid):
    """Most resident memory of the process itself so far, in MB; None when it has ended."""
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8") as status:
            for line in status:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) * 1024 / 1e6
    except OSError:
        pass
    return None


def sweep(build, root, arguments):
    """Seconds and the parent's peak MB."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "sweep")
        command = [os.path.join(build, "trainyard"), "sweep", "run", *arguments, "--out", out]
        begin, peak = time.monotonic(), 0
        with subprocess.Popen(command, cwd=root, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as process:
            while process.poll() is None:
                peak = max(peak, peak_of(process.pid) or 0)
                time.sleep(0.02)
        seconds = time.monotonic() - begin
        with open(os.path.join(out, "sweep.csv"), encoding="utf-8") as table:
            lines = sum(1 for _ in table) - 1
    return seconds, peak, lines


def sweep_rows(bench, root):
    rows = [["sweep of the 1,024-GPU job", "seconds", "peak MB of the parent", "bar", "kept"]]
    few = many = None
    for name, arguments in (("200 variants", [SCENARIO, *FEW]),
                            (f"{VARIANTS:,} variants", [SWEEP])):
        print(f"bench: sweep, {name}", file=sys.stderr, flush=True)
        seconds, peak, lines = sweep(bench.build, root, arguments)
        few, many = many, (seconds, peak)
        rows.append([name, f"{seconds:.0f}", f"{peak:.1f}", "", ""])
    if lines != VARIANTS:
        bench.fault(f"sweep: {lines} lines instead of {VARIANTS}")
    kept = many[0] <= SECONDS_BAR and many[1] <= GROWTH_BAR * few[1]
    if not kept:
        bench.fault(f"sweep: {many[0]:.0f} s, {many[1] / few[1]:.2f} x the memory: over its bar")
    rows[-1][3:] = [f"{SECONDS_BAR} s, {GROWTH_BAR:g} x the memory", "ok" if kept else "OVER"]
    return rows
