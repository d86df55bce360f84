"""A plain torchrun script: a small classifier of synthetic digits under DDP."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group()
rank = dist.get_rank()
torch.manual_seed(0)
prototypes = torch.rand(10, 1, 28, 28)
net = nn.Sequential(
    nn.Conv2d(1, 8, 5, stride=2), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(),
    nn.Linear(8 * 12 * 12, 64), nn.ReLU(), nn.Linear(64, 10),
)  # fmt: skip
model = DistributedDataParallel(net)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)

torch.manual_seed(1 + rank)  # each rank draws its own digits
for step in range(1, 41):
    labels = torch.randint(10, (32,))
    images = prototypes[labels] + 0.3 * torch.randn(32, 1, 28, 28)
    loss = nn.functional.cross_entropy(model(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if rank == 0 and step % 10 == 0:
        print(f"step {step}: loss {loss.item():.3f}")

dist.destroy_process_group()
