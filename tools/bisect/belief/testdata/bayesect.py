"""Hunts of git_bayesect (PyPI) in histories such as TestSimulate plays.

usage: bayesect.py HISTORIES COMMITS FAILS_BEFORE FAILS_AFTER [told]

It stops at 95 %, as git bayesect run does. told: it is given both rates, as
Beta priors worth 10,000 runs each.
"""

import random
import sys

from git_bayesect import Bisector

histories, commits = int(sys.argv[1]), int(sys.argv[2])
before, after = float(sys.argv[3]), float(sys.argv[4])
told = {}
if sys.argv[5:] == ["told"]:
    sure = 10000
    told = dict(alpha_new=sure * after, beta_new=sure * (1 - after), alpha_old=sure * before, beta_old=sure * (1 - before))
runs = right = said = 0
for seed in range(histories):
    rng = random.Random(seed)
    change = rng.randrange(commits)  # its index 0 is the newest commit
    b = Bisector([1.0] * commits, **told)
    while b.distribution.max() < 0.95:
        at = b.select()
        b.record(at, rng.random() < (after if at <= change else before))
        runs += 1
    said += b.distribution.max()
    right += int(b.distribution.argmax()) == change
print(f"{runs / histories:.1f} runs, right {100 * right / histories:.1f} %, said {100 * said / histories:.1f} %")
