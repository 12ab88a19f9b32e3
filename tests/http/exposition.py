"""A strict reading of Prometheus's text format 0.0.4: what promtool check metrics asks for, and that
histograms add up. It knows no metric of ours."""

import math
import re

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\[\\n"])*"'
SAMPLE = re.compile(rf"({NAME})(?:\{{({LABEL}(?:,{LABEL})*)\}})? (\S+)")
NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|Inf)|NaN")
SUFFIXES = {"histogram": ("_bucket", "_sum", "_count")}


class Bad(Exception):
    pass


def need(good, text):
    if not good:
        raise Bad(text)


class Family:
    def __init__(self, name, help_text):
        self.name = name
        self.help = help_text
        self.type = None
        self.samples = {}  # (suffix, labels): value


def labels_of(text):
    pairs = re.findall(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"', text or "")
    need(len({name for name, _ in pairs}) == len(pairs), f"a label stands twice: {text}")
    return tuple(sorted(pairs))


def add_sample(family, line):
    match = SAMPLE.fullmatch(line)
    need(match, f"not a sample: {line!r}")
    name, labels, value = match[1], labels_of(match[2]), match[3]
    need(NUMBER.fullmatch(value), f"not a number: {line!r}")
    need(family and family.type, f"no HELP and TYPE before {line!r}")
    suffixes = SUFFIXES.get(family.type, ("",))
    suffix = name[len(family.name):]
    need(name.startswith(family.name) and suffix in suffixes, f"{name} under {family.name}")
    need((suffix, labels) not in family.samples, f"twice: {line!r}")
    family.samples[suffix, labels] = float(value.replace("Inf", "inf"))


def check_name(family):
    is_counter = family.type == "counter"
    need(family.name.endswith("_total") == is_counter, f"_total is for counters: {family.name}")
    need(not re.search(r"_(ms|us|ns|millis\w*|kb|mb|bucket|sum|count)\b", family.name), family.name)
    need(family.help and family.help[-1] == ".", f"help of {family.name} is no sentence")


def check_histogram(family):
    rows = {}
    for (suffix, labels), value in family.samples.items():
        if suffix == "_bucket":
            bound = float(dict(labels)["le"].replace("Inf", "inf"))
            rest = tuple(pair for pair in labels if pair[0] != "le")
            rows.setdefault(rest, []).append((bound, value))
    need(rows, f"{family.name} has no buckets")
    for rest, row in rows.items():
        bounds = [bound for bound, _ in row]
        counts = [count for _, count in row]
        need(bounds == sorted(set(bounds)) and bounds[-1] == math.inf, f"bounds of {family.name}")
        need(counts == sorted(counts), f"{family.name}{rest} is not cumulative")
        need(family.samples["_count", rest] == counts[-1], f"count of {family.name}{rest}")
        need(("_sum", rest) in family.samples, f"{family.name}{rest} has no sum")
    need(len(family.samples) == sum(len(row) + 2 for row in rows.values()), f"more in {family.name}")


def read(text):
    """{name: Family}, or Bad with what is wrong."""
    need(text.endswith("\n") and "\r" not in text, "line ends")
    families, family = {}, None
    for line in text.splitlines():
        if line.startswith("# HELP "):
            _, _, name, help_text = line.split(" ", 3)
            need(re.fullmatch(NAME, name) and name not in families, f"family {name}")
            family = families[name] = Family(name, help_text)
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            need(family and family.name == name and not family.type and not family.samples, line)
            need(kind in ("counter", "gauge", "histogram"), line)
            family.type = kind
        else:
            add_sample(family, line)
    for family in families.values():
        need(family.samples, f"{family.name} is empty")
        check_name(family)
        if family.type == "histogram":
            check_histogram(family)
    return families
