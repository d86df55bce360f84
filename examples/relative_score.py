"""A detector as a plug-in: each rank's time against the best rank's, since the start.

A relative score, as some straggler detectors have it: 1 is as fast as the best rank,
and below 0.7 a rank is called a straggler. It reads a run's evidence from standard
input and writes verdicts (docs/plug-in-detectors.md). Beside SCOUT it shows what robust
thresholds, time that is not charged, and confirmation buy.
"""

import json
import sys
from collections import defaultdict

THRESHOLD, CHECKS = 0.7, 3
spent = defaultdict(float)
told = set()
num_checks = 0
for line in sys.stdin:
    event = json.loads(line)
    if event["type"] != "CheckCompleted":
        continue
    num_checks += 1
    for timing in event["timings"]:
        for peer, wall in enumerate(timing["wall_s"]):
            spent[event["group_ranks"][peer]] += wall or 0.0
    best = min(spent.values(), default=0.0)
    for rank, total in spent.items():
        score = best / total if total else 1.0
        if num_checks >= CHECKS and score < THRESHOLD and rank not in told:
            told.add(rank)
            reason = f"relative score {score:.2f} against the best rank"
            print(json.dumps({"kind": "straggler", "blamed": [f"rank{rank}"],
                              "step": event["step"], "reason": reason,
                              "score": score}))  # fmt: skip
