"""The stand-in for torch's compiler changes start-up time and nothing else."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

SCRIPT = """
import json, sys, tempfile
import torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from harness.workloads.no_compiler import keep_out
kept_out = keep_out() if sys.argv[1] == "stand-in" else False
store = dist.FileStore(tempfile.mktemp(), 1)
dist.init_process_group("gloo", store=store, rank=0, world_size=1)
torch.manual_seed(0)
model = DistributedDataParallel(torch.nn.Linear(4, 4))
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(3):
    model(torch.ones(2, 4)).square().sum().backward()
    optimizer.step()
    optimizer.zero_grad()
weights = [p.detach().numpy().tobytes().hex() for p in model.parameters()]
loaded = "torch._dynamo.convert_frame" in sys.modules
print(json.dumps([kept_out, loaded, weights]))
dist.destroy_process_group()
"""


def run(which: str, script: str = SCRIPT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", script, which],
        capture_output=True, text=True, timeout=120,
        env={"GLOO_SOCKET_IFNAME": "lo", "PATH": "/usr/bin:/bin"},
    )  # fmt: skip


@pytest.mark.jobs
def test_training_is_bitwise_the_same_with_and_without_the_compiler_loaded() -> None:
    kept_out, loaded, weights = json.loads(run("stand-in").stdout)
    assert (kept_out, loaded) == (True, False)
    assert json.loads(run("real").stdout) == [False, True, weights]


def test_whoever_needs_the_compiler_is_told_why_it_is_not_there() -> None:
    script = """
import torch
from harness.workloads.no_compiler import keep_out
keep_out()
torch._dynamo.optimize
"""
    error = run("stand-in", script).stderr
    assert "torch._dynamo.optimize: this job runs without torch's compiler" in error


def test_a_compiler_that_is_already_loaded_is_left_alone() -> None:
    script = """
import sys, types
import torch
sys.modules["torch._dynamo"] = real = types.ModuleType("torch._dynamo")
from harness.workloads.no_compiler import keep_out
assert keep_out() is False
assert sys.modules["torch._dynamo"] is real
"""
    ran = run("stand-in", script)
    assert ran.returncode == 0, ran.stderr
