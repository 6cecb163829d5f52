#!/usr/bin/env python3
"""Measures whole runs of trainyard; see tools/bench.sh, which builds what this needs."""
import argparse
import csv
import json
import math
import os
import sys

from bench_cases import (CASES, CURVE_GPUS, MICRO_BATCH_BAR, MICRO_BATCHES, QUICK_CASES,
                         SLOPE_BARS, SLOPE_FROM, STOCK_CASES, curve_case, micro_batch_case)
from bench_process import median, run
from bench_sweep import sweep_rows

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
STOCK_LIMIT = 60  # seconds of processor time
REFUSED = 3  # the exit code of a scenario that the executor cannot express
ROUNDING = 1e-9  # how far results that should be equal may be apart
CSV_FIELDS = ("gpus", "fold", "cpu_s", "rss_mb", "operations")
DOCS = [os.path.join(ROOT, "docs", name) for name in ("performance.md", "performance.csv")]
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"


class Bench:
    """Runs cases, each combination once, and remembers what was wrong."""

    def __init__(self, build, measure):
        self.build, self.measure = build, measure
        self.costs, self.faults = {}, []

    def command(self, case, fold, executor):
        scenario = os.path.join(ROOT, "scenarios", "scale", case.scenario + ".json")
        sets = case.sets + ((f"engine.executor={executor}",) if executor != "flow" else ())
        return [os.path.join(self.build, "trainyard"), "run", scenario, "--format", "json",
                "--fold", fold] + [word for value in sets for word in ("--set", value)]

    def cost(self, case, fold, executor="flow"):
        command = tuple(self.command(case, fold, executor))
        if command not in self.costs:
            print(f"bench: {case.name}, fold {fold}, {executor}", file=sys.stderr, flush=True)
            limit = STOCK_LIMIT if executor == "stock" else None
            cost = self.costs[command] = self.measure(list(command), limit)
            if executor == "flow" and cost.status != 0:
                self.fault(f"{case.name}, fold {fold}: exit code {cost.status}: {cost.error}")
        return self.costs[command]

    def fault(self, text):
        self.faults.append(text)

    def floor(self):
        return median([os.path.join(self.build, "tests", "empty_engine")])

    def compare(self, case, one, other, what):
        """A fault where two runs that should have the same results differ by more than rounding."""
        if one.status != 0 or other.status != 0:
            return
        found, expected = (results(json.loads(cost.output)) for cost in (one, other))
        if found.keys() != expected.keys():
            self.fault(f"{case.name}: other results {what}")
        for key in sorted(found.keys() & expected.keys()):
            if not math.isclose(found[key], expected[key], rel_tol=ROUNDING, abs_tol=ROUNDING):
                self.fault(f"{case.name}: {key} is {found[key]} instead of {expected[key]} {what}")

    def check(self, case):
        """Runs a case in all its ways; their results must be the same."""
        off = self.cost(case, "off")
        for fold in case.folds[1:]:
            self.compare(case, self.cost(case, fold), off, "where folded")
        if case.stock:
            self.compare(case, self.cost(case, "off", "stock"), off, "with stock SimGrid")


def results(node, path=""):
    """The numbers that the jobs of a result measured, by where they stand."""
    if not path:
        node = [job["metrics"] for job in node["jobs"]]
    if isinstance(node, (dict, list)):
        found = {}
        for key, value in node.items() if isinstance(node, dict) else enumerate(node):
            found.update(results(value, f"{path}/{key}"))
        return found
    return {path: node} if isinstance(node, (int, float)) else {}


def stock_text(bench, case, off):
    if not case.stock:
        return "cannot"
    stock = bench.cost(case, "off", "stock")
    if stock.status == REFUSED:
        return "cannot"
    # The kernel counts for its limit in ticks, a little more than the times that it reports.
    if stock.status != 0 and stock.cpu > 0.9 * STOCK_LIMIT:
        return f"over {STOCK_LIMIT} s, {STOCK_LIMIT / off.cpu:,.0f} x"
    if "signal 11" in stock.error:  # SimGrid's solver recurses as deep as flows are connected
        return f"crashes after {stock.cpu:.0f} s"
    if stock.status != 0:
        bench.fault(f"{case.name}, stock: exit code {stock.status}: {stock.error}")
    return f"{stock.cpu:.2f} s, {stock.cpu / off.cpu:.1f} x"


def bar_texts(bench, case, fold, cost, floor):
    """The bar in words, and whether it is kept."""
    bar = case.bars.get(fold)
    if bar is None:
        return "", ""
    seconds = bar.seconds + (floor.cpu if bar.above_floor else 0)
    kept = cost.cpu <= seconds and (bar.megabytes is None or cost.rss <= bar.megabytes)
    if not kept:
        bench.fault(f"{case.name}, fold {fold}: {cost.cpu:.3f} s, {cost.rss:.0f} MB: over its bar")
    text = f"{bar.seconds:g} s" + (" above the floor" if bar.above_floor else "")
    return text + (f", {bar.megabytes:g} MB" if bar.megabytes else ""), "ok" if kept else "OVER"


def case_rows(bench, cases):
    floor = bench.floor()
    rows = [["case", "fold", "CPU s", "peak MB", "bar", "kept", "stock SimGrid"],
            ["empty SimGrid engine", "", f"{floor.cpu:.3f}", f"{floor.rss:.0f}", "", "", ""]]
    for case in cases:
        bench.check(case)
        for fold in case.folds:
            cost = bench.cost(case, fold)
            stock = stock_text(bench, case, cost) if fold == "off" else ""
            rows.append([case.name, fold, f"{cost.cpu:.3f}", f"{cost.rss:.0f}",
                         *bar_texts(bench, case, fold, cost, floor), stock])
    return rows


def curve_points(bench):
    """A dictionary of CSV_FIELDS for each size and fold."""
    points = []
    for gpus in CURVE_GPUS:
        case = curve_case(gpus)
        costs = {fold: bench.cost(case, fold) for fold in SLOPE_BARS}
        bench.compare(case, costs["auto"], costs["off"], "where folded")
        for fold, cost in costs.items():
            if cost.status == 0:
                operations = json.loads(cost.output)["metrics"]["simulated_ops"]
                points.append(dict(zip(CSV_FIELDS, (gpus, fold, round(cost.cpu, 3),
                                                    round(cost.rss), int(operations)))))
    return points


def slopes(points, fold):
    """Of log CPU time over log GPUs: by least squares, and between the first and the last."""
    logs = [(math.log(p["gpus"]), math.log(p["cpu_s"])) for p in points
            if p["fold"] == fold and p["gpus"] >= SLOPE_FROM]
    mean_x, mean_y = (sum(values) / len(logs) for values in zip(*logs))
    fitted = (sum((x - mean_x) * (y - mean_y) for x, y in logs) /
              sum((x - mean_x)**2 for x, _ in logs))
    (x0, y0), (x1, y1) = logs[0], logs[-1]
    return fitted, (y1 - y0) / (x1 - x0)


def growth_rows(bench, points):
    rows = [["growth", "found", "bar", "kept"]]

    def add(name, found, text, bar):
        if found > bar:
            bench.fault(f"{name}: {found:.2f} is over its bar, {bar:g}")
        rows.append([name, text, f"{bar:g}", "ok" if found <= bar else "OVER"])

    for fold, bar in SLOPE_BARS.items():
        fitted, ends = slopes(points, fold)
        add(f"slope of log CPU over log GPUs from {SLOPE_FROM:,}, fold {fold}", max(fitted, ends),
            f"{fitted:.2f} fitted, {ends:.2f} end to end", bar)
    few, many = (bench.cost(micro_batch_case(n), "auto").cpu for n in MICRO_BATCHES)
    add(f"CPU of {MICRO_BATCHES[1]:,} to that of {MICRO_BATCHES[0]} micro-batches, fold auto",
        many / few, f"{many:.3f} s / {few:.3f} s = {many / few:.2f}", MICRO_BATCH_BAR)
    return rows


def curve_rows(points):
    rows = [["GPUs", "CPU s, fold off", "peak MB", "operations", "CPU s, fold auto", "peak MB",
             "operations"]]
    for gpus in CURVE_GPUS:
        at = {p["fold"]: p for p in points if p["gpus"] == gpus}
        if len(at) == len(SLOPE_BARS):
            rows.append([f"{gpus:,}"] + [text for p in at.values() for text in (
                f"{p['cpu_s']:.3f}", str(p["rss_mb"]), f"{p['operations']:,}")])
    return rows


def table(rows):
    """Markdown, with columns of equal width so that it also reads well in a terminal."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    rows = [rows[0], ["-" * width for width in widths], *rows[1:]]
    return "".join("| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |\n"
                   for row in rows)


def value_of(file, key):
    """The first value of `key` in a file of /proc."""
    with open(file, encoding="utf-8") as lines:
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith(key))


def machine():
    memory = int(value_of("/proc/meminfo", "MemTotal").split()[0]) / 2**20
    return f"Machine: {value_of('/proc/cpuinfo', 'model name')}, {os.cpu_count()} cores, " \
           f"{memory:.0f} GiB of memory.\n"


def write_csv(file, points):
    with open(file, "w", encoding="utf-8", newline="") as out:
        writer = csv.DictWriter(out, CSV_FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(points)


def update_docs(text, points):
    page, curve = DOCS
    with open(page, encoding="utf-8") as file:
        before, rest = file.read().split(BEGIN)
    after = rest.split(END)[1]
    with open(page, "w", encoding="utf-8") as file:
        file.write(f"{before}{BEGIN}\n{text}{END}{after}")
    write_csv(curve, points)


def measure_all(bench, options):
    text = machine() + "\n" + table(case_rows(bench, CASES + STOCK_CASES))
    points = curve_points(bench)
    text += "\n" + table(curve_rows(points)) + "\n" + table(growth_rows(bench, points))
    text += "\n" + table(sweep_rows(bench, ROOT))
    print(text, end="")
    if options.csv:
        write_csv(options.csv, points)
    if options.update_docs:
        update_docs(text, points)


def parse_options():
    parser = argparse.ArgumentParser(prog="tools/bench.sh", description=__doc__)
    parser.add_argument("--build", default=os.path.join(ROOT, "build"), help=argparse.SUPPRESS)
    parser.add_argument("--quick", action="store_true", help="small cases, results only")
    parser.add_argument("--case", metavar="NAME", choices=[c.name for c in CASES + STOCK_CASES],
                        help="only this one")
    parser.add_argument("--sweep", action="store_true", help="only the sweeps")
    parser.add_argument("--csv", metavar="FILE", help="write the cost curve into FILE")
    parser.add_argument("--update-docs", action="store_true", help="write docs/performance.*")
    options = parser.parse_args()
    if (options.quick or options.case or options.sweep) and (options.csv or options.update_docs):
        parser.error("--quick, --case and --sweep have no cost curve to write")
    return options


def main():
    options = parse_options()
    bench = Bench(options.build, run if options.quick else median)
    if options.quick:
        for case in QUICK_CASES:
            bench.check(case)
    elif options.case:
        print(table(case_rows(bench, [c for c in CASES + STOCK_CASES if c.name == options.case])),
              end="")
    elif options.sweep:
        print(table(sweep_rows(bench, ROOT)), end="")
    else:
        measure_all(bench, options)
    for fault in bench.faults:
        print(f"bench: {fault}", file=sys.stderr)
    return 1 if bench.faults else 0


if __name__ == "__main__":
    sys.exit(main())
