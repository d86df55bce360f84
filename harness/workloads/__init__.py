"""What runs inside a rank: `train` is the entry, one file per model."""
