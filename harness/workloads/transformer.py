"""The deterministic decoder-only Transformer of SCOUT sec. 10.1 (three blocks there).

B sequences of a batch, T tokens of a sequence, D model width, H heads.
"""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from harness.scenario import Workload


class Attention(nn.Module):
    """Causal self-attention."""

    def __init__(self, workload: Workload) -> None:
        super().__init__()
        self.num_heads = workload.num_heads
        self.dropout = workload.dropout
        self.qkv = nn.Linear(workload.d_model, 3 * workload.d_model)
        self.out = nn.Linear(workload.d_model, workload.d_model)

    def forward(self, x_BTD: torch.Tensor) -> torch.Tensor:
        """x_BTD -> y_BTD."""
        b, t, d = x_BTD.shape
        q, k, v = (
            part.view(b, t, self.num_heads, d // self.num_heads).transpose(1, 2)
            for part in self.qkv(x_BTD).split(d, dim=2)
        )
        dropout = self.dropout if self.training else 0.0
        y_BHTd = F.scaled_dot_product_attention(q, k, v, is_causal=True,
                                                dropout_p=dropout)  # fmt: skip
        y_BTD: torch.Tensor = self.out(y_BHTd.transpose(1, 2).reshape(b, t, d))
        return y_BTD


class Block(nn.Module):
    """Pre-norm attention and MLP, each with dropout on its residual branch."""

    def __init__(self, workload: Workload) -> None:
        super().__init__()
        width = workload.d_model
        self.norm1 = nn.LayerNorm(width)
        self.attention = Attention(workload)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )
        self.dropout = nn.Dropout(workload.dropout)

    def forward(self, x_BTD: torch.Tensor) -> torch.Tensor:
        """x_BTD -> y_BTD."""
        x_BTD = x_BTD + self.dropout(self.attention(self.norm1(x_BTD)))
        y_BTD: torch.Tensor = x_BTD + self.dropout(self.mlp(self.norm2(x_BTD)))
        return y_BTD


class Transformer(nn.Module):
    """Token ids to next-token logits."""

    def __init__(self, workload: Workload) -> None:
        super().__init__()
        self.tokens = nn.Embedding(workload.vocab_size, workload.d_model)
        self.positions = nn.Embedding(workload.seq_len, workload.d_model)
        self.blocks = nn.ModuleList(Block(workload) for _ in range(workload.num_layers))
        self.norm = nn.LayerNorm(workload.d_model)
        self.head = nn.Linear(workload.d_model, workload.vocab_size, bias=False)

    def forward(self, ids_BT: torch.Tensor) -> torch.Tensor:
        """ids_BT (int64) -> logits_BTV."""
        place_T = torch.arange(ids_BT.shape[1], device=ids_BT.device)
        x_BTD = self.tokens(ids_BT) + self.positions(place_T)
        for block in self.blocks:
            x_BTD = block(x_BTD)
        logits_BTV: torch.Tensor = self.head(self.norm(x_BTD))
        return logits_BTV
