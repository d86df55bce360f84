"""A process group that publishes every collective before it can block (SCOUT sec. 7).

Tier (a): what DDP's reducer and FSDP launch from C++ goes through it too. Chosen by
backend name or by `python -m scout train.py`; delegates to gloo (and NCCL) unchanged.

    dist.all_reduce, DDP, FSDP ─► RecordingGroup ─► inner group (gloo, NCCL)
                                       └─► Tape: number, fingerprint ─► progress ring
"""
