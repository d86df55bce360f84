"""A small real model with its optimizer, and a step of training."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import nn

from injectors.fault import RankContext
from vocab.events import Event


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.second = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.second(torch.relu(self.first(x)))


class Small(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList([Block(), Block(), Block()])
        self.head = nn.Linear(4, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            x = block(x)
        return self.head(x)


@dataclass
class Job:
    """A model under training, and the events that its faults wrote."""

    seed: int = 3
    events: list[Event] = field(default_factory=list)

    def __post_init__(self) -> None:
        torch.manual_seed(1)
        self.model = Small()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=0.01)
        self.layers = [
            (f"blocks.{index}", block) for index, block in enumerate(self.model.blocks)
        ]
        self.num_steps = 0

    def context(self, fault_id: str = "fault", rank: int = 0) -> RankContext:
        return RankContext(
            rank=rank,
            seed=self.seed,
            fault_id=fault_id,
            model=self.model,
            optimizer=self.optimizer,
            layers=self.layers,
            emit=self.events.append,
        )

    def step(self) -> None:
        self.num_steps += 1
        torch.manual_seed(self.num_steps)
        loss = self.model(torch.randn(8, 4)).square().mean()
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()

    def weights(self) -> dict[str, torch.Tensor]:
        named = self.model.named_parameters()
        return {name: parameter.detach().clone() for name, parameter in named}

    def differing(self, before: dict[str, torch.Tensor]) -> list[str]:
        after = self.weights()
        return [name for name in after if not torch.equal(after[name], before[name])]
