"""The table of all runs: fast to list and filter, derived, never the truth (DESIGN 4).

    run directories --put, sync, rebuild--> runs table --rows--> list page, CLI

SQLite in the runs folder by default, PostgreSQL by URL (FAULTYARD_INDEX_URL). It can be
deleted at any time: the next use makes it again from the directories, and `sync` brings
it up to date with runs that were added, went on or were removed behind its back.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import DatabaseError, OperationalError, SQLAlchemyError

from harness.errors import InfrastructureError
from harness.store import RunDirectory, Store

URL_VARIABLE = "FAULTYARD_INDEX_URL"
FILE = "index.sqlite"
UNFINISHED = "unfinished"
"""In place of an outcome: without results, going on or killed."""

_METADATA = sa.MetaData()
_RUNS = sa.Table(
    "runs",
    _METADATA,
    sa.Column("runs_root", sa.String, primary_key=True),
    sa.Column("run_id", sa.String, primary_key=True),
    sa.Column("scenario_name", sa.String, nullable=False, index=True),
    sa.Column("title", sa.String, nullable=False),
    sa.Column("seed", sa.BigInteger),
    sa.Column("num_ranks", sa.Integer),
    sa.Column("num_steps", sa.Integer),
    sa.Column("created_wall_ns", sa.BigInteger, index=True),
    sa.Column("ended_reason", sa.String),
    sa.Column("outcome", sa.String, index=True),
    sa.Column("reason", sa.String),
    sa.Column("expected", sa.String),
    sa.Column("found", sa.String),
    sa.Column("num_verdicts", sa.Integer),
    sa.Column("wall_s", sa.Float),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One run as a list shows it; None: not known, or not yet."""

    run_id: str
    scenario_name: str
    title: str
    seed: int | None
    num_ranks: int | None
    num_steps: int | None
    created_wall_ns: int | None
    ended_reason: str | None
    outcome: str | None  # None: no results (going on, or killed)
    reason: str | None
    expected: str | None
    found: str | None
    num_verdicts: int | None
    wall_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Total:
    """All runs of one outcome together; None: without results."""

    outcome: str | None
    num_runs: int
    num_verdicts: int
    wall_s: float


class Index:
    """The index of one runs folder."""

    def __init__(self, root: Path, url: str, busy_s: float) -> None:
        self._root = root
        self._url = url
        self._busy_s = busy_s

    @classmethod
    def of(cls, root: Path, url: str | None = None, *, busy_s: float = 30.0) -> Index:
        """The index of a folder: by URL, else by the environment, else its own file.

        Args:
            busy_s: how long to wait for others who write, seconds.
        """
        root = root.resolve()
        default = os.environ.get(URL_VARIABLE) or f"sqlite:///{root / FILE}"
        return cls(root, url or default, busy_s)

    def put(self, run: RunDirectory) -> None:
        """Write or replace the row of one run."""
        with self._healed() as connection:
            self._put(connection, row_of(run))

    def rows(
        self,
        *,
        limit: int = 100,
        offset: int = 0,
        scenario: str | None = None,
        outcome: str | None = None,
    ) -> list[Row]:
        """Runs of the folder, newest first.

        Args:
            outcome: only these; `UNFINISHED`: only those without results.
        """
        query = self._where(sa.select(_RUNS), scenario, outcome)
        query = query.order_by(_RUNS.c.run_id.desc()).limit(limit).offset(offset)
        with self._healed() as connection:
            return [_to_row(found) for found in connection.execute(query).mappings()]

    def counts(
        self, *, scenario: str | None = None, outcome: str | None = None
    ) -> tuple[dict[str, int], dict[str, int]]:
        """(runs by outcome, runs by scenario): each as the other filter leaves them."""
        outcomes = self._where(
            sa.select(_RUNS.c.outcome, sa.func.count()).group_by(_RUNS.c.outcome),
            scenario, None,
        )  # fmt: skip
        scenarios = self._where(
            sa.select(_RUNS.c.scenario_name, sa.func.count())
            .group_by(_RUNS.c.scenario_name)
            .order_by(_RUNS.c.scenario_name),
            None, outcome,
        )  # fmt: skip
        with self._healed() as connection:
            first = [(name or UNFINISHED, int(number))
                     for name, number in connection.execute(outcomes)]  # fmt: skip
            second = [(str(name), int(number))
                      for name, number in connection.execute(scenarios)]  # fmt: skip
        return dict(first), dict(second)

    def _where(
        self, query: sa.Select[Any], scenario: str | None, outcome: str | None
    ) -> sa.Select[Any]:
        query = query.where(_RUNS.c.runs_root == str(self._root))
        if scenario is not None:
            query = query.where(_RUNS.c.scenario_name == scenario)
        if outcome == UNFINISHED:
            query = query.where(_RUNS.c.outcome.is_(None))
        elif outcome is not None:
            query = query.where(_RUNS.c.outcome == outcome)
        return query

    def totals(self) -> list[Total]:
        """What the folder's runs come to, by outcome."""
        query = (
            sa.select(
                _RUNS.c.outcome,
                sa.func.count(),
                sa.func.coalesce(sa.func.sum(_RUNS.c.num_verdicts), 0),
                sa.func.coalesce(sa.func.sum(_RUNS.c.wall_s), 0.0),
            )
            .where(_RUNS.c.runs_root == str(self._root))
            .group_by(_RUNS.c.outcome)
        )
        with self._healed() as connection:
            return [
                Total(outcome=outcome, num_runs=int(number),
                      num_verdicts=int(verdicts), wall_s=float(wall))
                for outcome, number, verdicts, wall in connection.execute(query)
            ]  # fmt: skip

    def sync(self) -> None:
        """Take in what changed in the folder since; cheap where nothing did."""
        on_disk = {run.run_id: run for run in Store(self._root).runs()}
        with self._healed() as connection:
            known = connection.execute(
                sa.select(_RUNS.c.run_id, _RUNS.c.outcome).where(
                    _RUNS.c.runs_root == str(self._root)
                )
            )
            final = {run_id: outcome is not None for run_id, outcome in known}
            self._drop(connection, [name for name in final if name not in on_disk])
            for run_id, run in on_disk.items():
                if not final.get(run_id, False):
                    self._put(connection, row_of(run))

    def rebuild(self) -> int:
        """Make the whole index again from the directories; returns how many runs."""
        runs = Store(self._root).runs()
        self._forget_file()
        with self._transaction() as connection:
            connection.execute(
                _RUNS.delete().where(_RUNS.c.runs_root == str(self._root))
            )
            for run in runs:
                self._put(connection, row_of(run))
        return len(runs)

    @contextlib.contextmanager
    def _healed(self) -> Iterator[sa.Connection]:
        """A transaction; a file that is no database of ours is made again first."""
        try:
            with self._transaction() as connection:
                connection.execute(sa.select(_RUNS).limit(1)).first()
        except DatabaseError as error:
            if not _is_damage(error):
                raise InfrastructureError(
                    f"index {self._shown_url()}: {error.orig}"
                ) from None
            self.rebuild()
        with self._transaction() as connection:
            yield connection

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sa.Connection]:
        # A fresh connection each time: the file may have been deleted since.
        engine = self._engine()
        try:
            with engine.begin() as connection:
                connection.execute(sa.schema.CreateTable(_RUNS, if_not_exists=True))
                yield connection
        except DatabaseError:
            raise
        except SQLAlchemyError as error:
            raise InfrastructureError(f"index {self._shown_url()}: {error}") from None
        finally:
            engine.dispose()

    def _engine(self) -> sa.Engine:
        try:
            url = sa.make_url(self._url)
        except SQLAlchemyError:
            raise InfrastructureError(
                f"{URL_VARIABLE} is no database URL; allowed: sqlite:///FILE or "
                "postgresql+psycopg://USER@HOST/NAME"
            ) from None
        if url.get_backend_name() == "sqlite":
            self._root.mkdir(parents=True, exist_ok=True)
            return sa.create_engine(
                url, poolclass=sa.NullPool, connect_args={"timeout": self._busy_s}
            )
        return sa.create_engine(url, poolclass=sa.NullPool)

    def _put(self, connection: sa.Connection, row: Row) -> None:
        values = {"runs_root": str(self._root), **asdict(row)}
        dialect: Any = postgresql if connection.dialect.name == "postgresql" else sqlite
        statement = dialect.insert(_RUNS).values(values)
        connection.execute(
            statement.on_conflict_do_update(
                index_elements=[_RUNS.c.runs_root, _RUNS.c.run_id], set_=values
            )
        )

    def _drop(self, connection: sa.Connection, run_ids: Iterable[str]) -> None:
        for run_id in run_ids:
            connection.execute(
                _RUNS.delete().where(
                    _RUNS.c.runs_root == str(self._root), _RUNS.c.run_id == run_id
                )
            )

    def _forget_file(self) -> None:
        url = sa.make_url(self._url)
        if url.get_backend_name() == "sqlite" and url.database:
            Path(url.database).unlink(missing_ok=True)

    def _shown_url(self) -> str:
        return sa.make_url(self._url).render_as_string(hide_password=True)


def _is_damage(error: DatabaseError) -> bool:
    """No database, a torn one, or one of another version; not one that is busy."""
    is_ours = not isinstance(error, OperationalError)
    return is_ours or "no such column" in str(error.orig)


def row_of(run: RunDirectory) -> Row:
    """The row of a run from its directory, whatever of it is there."""
    meta, ended, results = run.meta(), run.ended(), run.results()
    incidents = results.incidents if results else ()
    extras = results.extras if results else ()
    return Row(
        run_id=run.run_id,
        scenario_name=meta.scenario_name if meta else "",
        title=meta.title if meta else "",
        seed=meta.seed if meta else None,
        num_ranks=meta.num_ranks if meta else None,
        num_steps=meta.num_steps if meta else None,
        created_wall_ns=meta.created_wall_ns if meta else None,
        ended_reason=ended.reason if ended else None,
        outcome=results.outcome.value if results else None,
        reason=results.reason if results else None,
        expected=_listed((i.kind, i.targets) for i in incidents) if results else None,
        found=_listed(
            [(i.kind, i.targets) for i in incidents if i.found]
            + [(extra.kind, extra.blamed) for extra in extras]
        )
        if results
        else ended.detail
        if ended and ended.reason == "analysed"
        else None,
        num_verdicts=results.num_verdicts if results else None,
        wall_s=results.wall_s if results else None,
    )


def _listed(incidents: Iterable[tuple[str, tuple[str, ...]]]) -> str:
    """Such as `sdc rank2; hang rank0`; `nobody` for none."""
    parts = [f"{kind} {', '.join(names) or 'nobody'}" for kind, names in incidents]
    return "; ".join(parts) or "nobody"


def _to_row(found: Any) -> Row:
    return Row(**{field.name: found[field.name] for field in fields(Row)})
