"""The `fabric:` block of a scenario: a leaf-spine that the job's collectives cross.

One rank hangs on one leaf: rank 3 is host3 behind leaf3. Values only; read by the
scenario's schema, so importing it imports neither numpy nor the simulator.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from vocab.errors import InvalidName
from vocab.graph import LeafSpine
from vocab.names import Link, parse_link

ModelName = Literal["real", "resnet50", "gpt2", "gpt2-medium", "gpt2-xl", "llama3-8b",
                    "llama3-70b-4tp-4pp"]  # fmt: skip
Policy = Literal["random", "jsq2", "jsq", "round_robin"]


class SimulatedFabric(BaseModel):
    """A simulated leaf-spine (SprayCheck "evaluation"); needs no root."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal["simulated"]
    leaves: int | None = Field(
        None, ge=2, le=64, description="leaf switches; absent: one for each rank"
    )
    spines: int = Field(4, ge=2, le=64, description="spine switches")
    policy: Policy = Field("jsq2", description="how leaves spray packets over spines")
    load: float = Field(
        0.98, gt=0, le=1, description="rate of a flow over that of its usable uplinks"
    )
    burst_pkts: int = Field(
        1, ge=1, le=64, description="packets that a host sends back to back"
    )
    model: ModelName = Field(
        "gpt2", description="whose size the collectives have; real: the job's own"
    )
    seed: int = Field(0, ge=0, lt=2**31, description="of the fabric alone")
    link_gbps: float = Field(100.0, gt=0, le=10_000, description="leaf to spine")
    disabled: tuple[str, ...] = Field(
        (), description="links that routing leaves out from the start: leaf0-spine3"
    )
    min_packets_per_spine: int = Field(
        15_000, ge=1, description="P_min: a comparison concludes from there on"
    )
    false_alarm: float = Field(
        1e-6, gt=0, lt=0.5, description="wanted rate of healthy flows that fail"
    )
    wanted_drop_frac: float = Field(
        0.01, gt=0, le=1, description="loss that 'packets still needed' refers to"
    )
    patience_s: float = Field(
        10.0, ge=0, le=3600, description="wait before a finding that blames nobody"
    )
    dilation: float = Field(
        1.0, ge=0, le=10_000, description="job seconds for each simulated second that "
        "a fault costs",
    )  # fmt: skip

    @field_validator("disabled")
    @classmethod
    def _whole_links(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            try:
                link = parse_link(name)
            except InvalidName as error:
                raise ValueError(str(error)) from None
            if link.direction is not None:
                raise ValueError(f"{name!r} has a direction; allowed: 'leaf0-spine3'")
        return names

    def graph(self, num_ranks: int) -> LeafSpine:
        """The fabric of a job: host r of leaf r is rank r; a second one is others'."""
        return LeafSpine(
            num_leaves=self.leaves or num_ranks,
            num_spines=self.spines,
            hosts_per_leaf=HOSTS_PER_LEAF,
            disabled=frozenset(whole(name) for name in self.disabled),
        )


HOSTS_PER_LEAF = 2
"""The rank's, and one for the traffic of other jobs."""


def whole(name: str) -> Link:
    """The link of a name, without its direction."""
    link = parse_link(name)
    return Link(link.leaf, link.spine)
