"""The dashboard starts without what only a training job needs."""

from __future__ import annotations

import subprocess
import sys


def test_serving_imports_no_torch_and_no_numba() -> None:
    program = (
        "import sys, pathlib, webapp.app, webapp.serve, webapp.settings\n"
        "webapp.app.create_app(webapp.settings.Settings(runs_root=pathlib.Path('x')))\n"
        "sys.exit(' '.join({'torch', 'numba', 'plotly'} & set(sys.modules)) or 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
