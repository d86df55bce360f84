"""`python -m scout` runs a script as it is, with its collectives recorded."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.jobs

SCRIPT = """
import sys
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from scout.recording.backend import recording_tape
dist.init_process_group({backend})
mesh = init_device_mesh("cpu", (1,), mesh_dim_names=("dp",))
print(__name__, sys.argv[1:], dist.get_backend(), recording_tape() is not None)
print(dist.get_backend(mesh.get_group("dp")), sys.path[0])
dist.destroy_process_group()
raise SystemExit(7)
"""


def run(*args: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    root = Path(__file__).resolve().parents[2]
    env = {
        **os.environ,
        "PYTHONPATH": str(root),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": "0",
        "RANK": "0",
        "WORLD_SIZE": "1",
        "GLOO_SOCKET_IFNAME": "lo",
    }
    command = [sys.executable, "-m", "scout", *args]
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True)


def script(folder: Path, backend: str) -> Path:
    path = folder / "inner" / "train.py"
    path.parent.mkdir()
    path.write_text(SCRIPT.format(backend=backend))
    return path


@pytest.mark.parametrize("backend", ["", '"gloo"', 'backend="GLOO"'])
def test_a_script_is_recorded_without_a_change(tmp_path: Path, backend: str) -> None:
    path = script(tmp_path, backend)
    done = run(str(path), "--lr", "3", cwd=tmp_path)
    assert done.returncode == 7, done.stderr
    assert done.stdout.splitlines() == [
        "__main__ ['--lr', '3'] scout True",
        f"scout {path.parent}",
    ]


def test_another_backend_is_kept_and_said(tmp_path: Path) -> None:
    path = script(tmp_path, '"fake", store=dist.HashStore(), rank=0, world_size=1')
    registers = "import torch.testing._internal.distributed.fake_pg\n"
    path.write_text(registers + path.read_text())
    done = run(str(path), cwd=tmp_path)
    assert "backend 'fake' is kept; collectives are not recorded" in done.stderr
    assert "fake False" in done.stdout


def test_a_module_is_run_by_name(tmp_path: Path) -> None:
    path = script(tmp_path, "")
    done = run("-m", "train", "x", cwd=path.parent)
    assert done.returncode == 7, done.stderr
    assert "__main__ ['x'] scout True" in done.stdout


@pytest.mark.parametrize("args", [(), ("-m",), ("absent.py",), ("--help",)])
def test_wrong_usage_is_said_without_loading_torch(
    tmp_path: Path, args: tuple[str, ...]
) -> None:
    done = run(*args, cwd=tmp_path)
    assert done.returncode == 64
    assert "usage: python -m scout" in done.stderr
