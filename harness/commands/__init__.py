"""The commands of `faultyard`, one file each; `harness.cli` puts them together.

Each returns its exit code. They import what they need when they run, so that
`faultyard --help` stays fast, and none of them imports torch.
"""
