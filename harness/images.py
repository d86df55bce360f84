"""The images that containers run: made once, made again only when their recipe changes.

    wheelhouse (pip, on this machine, our pins) ─┐
    base: a registry's, or debootstrap offline ──┴─► docker build ─► trainer image
                                                     warm the compile cache once

The tag is a digest of everything that goes in, so whether an image is up to date is a
question of its name. Called by the `images` command and by whoever needs the image.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import socket
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterable, Mapping
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.errors import InfrastructureError

if TYPE_CHECKING:
    import docker

ROOT = Path(__file__).resolve().parents[1]
TRAINER = ROOT / "containers" / "trainer"
CONSTRAINTS = ROOT / "constraints.txt"
REPOSITORY = "faultyard/trainer"
BASE_REPOSITORY = "faultyard/base"
REGISTRY_BASE = "python:3.11-slim-bookworm"
DEBIAN = "bookworm"
DEBIAN_PACKAGES = ("python3", "libgomp1", "libstdc++6")
CACHE_VOLUME = "faultyard-compile-cache"
LABEL = "faultyard"
USER = 10001

Tell = Callable[[str], None]


def client(context: str | None = None) -> docker.DockerClient:
    """A client of the daemon of a Docker context, to be closed; None: the current one.

    Raises:
        InfrastructureError: no SDK, no such context, no daemon or no right to it, or it
            is the daemon of another machine.
    """
    try:
        import docker
        from docker import errors
    except ImportError:
        raise InfrastructureError(
            "the Docker SDK is not installed; install faultyard[docker]"
        ) from None
    where = "the Docker daemon" if context is None else f"Docker context {context!r}"
    try:
        if context is None and "DOCKER_HOST" in os.environ:
            _knock(os.environ["DOCKER_HOST"])
            made = docker.from_env(timeout=60)
        else:
            endpoint = _endpoint(context)
            _knock(endpoint)
            made = docker.DockerClient(base_url=endpoint, timeout=60)
        try:
            check_is_here(made.info(), where)
        except BaseException:
            made.close()
            raise
    except (errors.DockerException, OSError) as error:
        raise InfrastructureError(f"{where} cannot be reached: {error}") from None
    return made


def _endpoint(context: str | None) -> str:
    from docker.context import ContextAPI

    found = ContextAPI.get_context(context)
    if found is None:
        raise InfrastructureError(
            f"no Docker context {context!r}; allowed: one that "
            "`docker context ls` shows"
        )
    return str(found.Host)


def _knock(endpoint: str) -> None:
    """Raise OSError where nobody listens; the SDK would leak the socket."""
    path = re.sub(r"^(http\+)?unix:/*", "/", endpoint)
    if path == endpoint:
        return
    with socket.socket(socket.AF_UNIX) as made:
        try:
            made.connect(path)
        except OSError as error:
            raise OSError(f"{error.strerror} ({endpoint})") from None


def check_is_here(info: Mapping[str, Any], where: str) -> None:
    """Refuse a daemon of another machine or of a virtual one.

    Its containers could not reach our socket, and their process ids would be those of
    strangers here.

    Args:
        info: what the daemon says about its machine (`docker info`).

    Raises:
        InfrastructureError: names that machine.
    """
    ours = os.uname()
    if (info.get("Name"), info.get("KernelVersion")) != (ours.nodename, ours.release):
        raise InfrastructureError(
            f"{where} is of another machine, {info.get('Name')!r} (kernel "
            f"{info.get('KernelVersion')}); allowed: a daemon of this one, "
            f"{ours.nodename!r} (kernel {ours.release}), as ranks are watched and "
            "signalled through its kernel"
        )


def tag() -> str:
    """The trainer image that this source wants; its tag is a digest."""
    found = hashlib.sha256()
    for path in (TRAINER / "Dockerfile", TRAINER / "requirements.txt"):
        found.update(path.read_bytes() + b"\0")
    found.update("\n".join(_pins()).encode())
    found.update(f"{sys.version_info[:2]} {DEBIAN} {DEBIAN_PACKAGES}".encode())
    return f"{REPOSITORY}:{found.hexdigest()[:12]}"


def is_there(made: docker.DockerClient) -> bool:
    """Whether the daemon has the image that this source wants."""
    return _has(made, tag())


def build(made: docker.DockerClient, *, offline: bool, tell: Tell) -> str:
    """Make the trainer image, unless it is there; returns its tag.

    Args:
        offline: make the base with debootstrap instead of pulling one.
        tell: gets a line for each thing that happens.

    Raises:
        InfrastructureError: a step failed; says which and how.
    """
    name = tag()
    if _has(made, name):
        tell(f"{name} is up to date")
    else:
        base = _debian_base(made, tell) if offline else REGISTRY_BASE
        with tempfile.TemporaryDirectory(prefix="faultyard-image-") as folder:
            context = Path(folder)
            _wheelhouse(context, tell)
            try:
                _build(made, context, name, base, tell)
            except InfrastructureError as error:
                more = "" if offline else "; where nothing can be pulled: --offline"
                raise InfrastructureError(f"{error}{more}") from None
    _warm(made, name, tell)
    return name


def _pins() -> list[str]:
    """The pinned versions of what the image holds; other pins do not concern it."""
    wanted = _names((TRAINER / "requirements.txt").read_text().splitlines())
    known: set[str] = set()
    while wanted - known:
        name = min(wanted - known)
        known.add(name)
        try:
            wanted |= _names(
                text for text in metadata.requires(name) or () if "extra ==" not in text
            )
        except metadata.PackageNotFoundError:  # a marker that does not hold here
            continue
    return sorted(
        line for line in CONSTRAINTS.read_text().splitlines() if _names([line]) & known
    )


def _names(requirements: Iterable[str]) -> set[str]:
    found = (re.match(r"[A-Za-z0-9._-]+", text) for text in requirements)
    return {re.sub(r"[-_.]+", "-", match[0]).lower() for match in found if match}


def source_mount() -> dict[str, dict[str, str]]:
    """Our source, at its own path: compiled code is kept by path."""
    return {str(ROOT): {"bind": str(ROOT), "mode": "ro"}}


def python_path() -> str:
    """Of a container: our source, then what the image holds."""
    return f"{ROOT}:/opt/site"


def _has(made: docker.DockerClient, name: str) -> bool:
    from docker import errors

    try:
        made.images.get(name)
    except errors.ImageNotFound:
        return False
    return True


def _wheelhouse(context: Path, tell: Tell) -> None:
    """Wheels for the container's Python, which has to be this one's version."""
    tell("collecting wheels")
    wheels = context / "wheelhouse"
    _command(
        [sys.executable, "-m", "pip", "download", "--quiet", "--only-binary", ":all:",
         "--disable-pip-version-check", "--dest", str(wheels), "-c", str(CONSTRAINTS),
         "-r", str(TRAINER / "requirements.txt"), "pip"],
        "collecting wheels",
    )  # fmt: skip
    size = sum(path.stat().st_size for path in wheels.iterdir())
    tell(f"{len(list(wheels.iterdir()))} wheels, {size / 2**20:.0f} MiB")
    for name in ("Dockerfile", "requirements.txt"):
        shutil.copy(TRAINER / name, context / name)


def _debian_base(made: docker.DockerClient, tell: Tell) -> str:
    name = (
        f"{BASE_REPOSITORY}:{DEBIAN}-"
        + hashlib.sha256(" ".join(DEBIAN_PACKAGES).encode()).hexdigest()[:8]
    )
    if _has(made, name):
        tell(f"{name} is up to date")
        return name
    if os.geteuid() != 0 or shutil.which("debootstrap") is None:
        raise InfrastructureError(
            "--offline makes the base with debootstrap, which needs root and "
            "`apt-get install debootstrap`"
        )
    tell(f"debootstrap {DEBIAN}")
    with tempfile.TemporaryDirectory(prefix="faultyard-base-") as folder:
        included = f"--include={','.join(DEBIAN_PACKAGES)}"
        command = ["debootstrap", "--variant=minbase", included, DEBIAN, folder]
        mirror = _mirror()
        _command([*command, *([mirror] if mirror else [])], "debootstrap")
        shutil.rmtree(Path(folder) / "var" / "cache" / "apt", ignore_errors=True)
        shutil.rmtree(
            Path(folder) / "var" / "lib" / "apt" / "lists", ignore_errors=True
        )
        tell(f"importing {name}")
        with subprocess.Popen(
            ["tar", "-C", folder, "-c", "."], stdout=subprocess.PIPE
        ) as tar:
            assert tar.stdout is not None
            _raise_on_error(
                made.api.import_image_from_stream(
                    tar.stdout, repository=name.partition(":")[0],
                    tag=name.partition(":")[2], changes=[f"LABEL {LABEL}=base"],
                ).splitlines(),
                "importing the base",
            )  # fmt: skip
    return name


def _mirror() -> str | None:
    """The Debian mirror that this machine's apt uses; None: debootstrap's own."""
    folder = Path("/etc/apt")
    for path in (
        folder / "sources.list",
        *sorted((folder / "sources.list.d").glob("*")),
    ):
        try:
            lines = path.read_text().splitlines()
        except OSError:
            continue
        for line in lines:
            words = line.split()
            if words[:1] == ["URIs:"] and len(words) > 1:
                return words[1]
            if words[:1] == ["deb"]:
                found = [word for word in words if "://" in word]
                if found:
                    return found[0]
    return None


def _build(
    made: docker.DockerClient, context: Path, name: str, base: str, tell: Tell
) -> None:
    tell(f"building {name} on {base}")
    with tempfile.TemporaryFile() as file:
        with tarfile.open(fileobj=file, mode="w") as tar:
            tar.add(context, arcname=".")
        file.seek(0)
        lines = made.api.build(
            fileobj=file, custom_context=True, tag=name, rm=True, forcerm=True,
            decode=True, buildargs={"BASE": base}, labels={LABEL: "trainer"},
        )  # fmt: skip
        for line in lines:
            if "error" in line:
                raise InfrastructureError(f"building {name}: {line['error'].strip()}")
            text = str(line.get("stream", "")).strip()
            if text.startswith("Step "):
                tell(text)
    # What the first stage left is as large as the image and of no more use.
    made.images.prune(filters={"dangling": True, "label": f"{LABEL}=build-stage"})


def _warm(made: docker.DockerClient, name: str, tell: Tell) -> None:
    """Compile what ranks compile, once, into a volume that all containers share."""
    volumes = made.volumes.list(filters={"name": CACHE_VOLUME})
    if not any(volume.name == CACHE_VOLUME for volume in volumes):
        made.volumes.create(CACHE_VOLUME, labels={LABEL: "cache"})
    tell("warming the compile cache")
    from docker import errors

    try:
        made.containers.run(
            name,
            ["-c", "from harness.workloads.train import warm_up; warm_up()"],
            volumes={**source_mount(), CACHE_VOLUME: {"bind": "/opt/cache"}},
            environment={"PYTHONPATH": python_path()},
            labels={LABEL: "warm-up"}, network_mode="none", remove=True,
        )  # fmt: skip
    except errors.DockerException as error:
        raise InfrastructureError(f"the image does not work: {error}") from None


def _command(command: list[str], what: str) -> None:
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        last = "; ".join(done.stdout.strip().splitlines()[-3:])
        raise InfrastructureError(f"{what} failed with {done.returncode}: {last}")


def _raise_on_error(lines: list[str], what: str) -> None:
    for line in lines:
        if '"error"' in line:
            raise InfrastructureError(f"{what}: {line}")
