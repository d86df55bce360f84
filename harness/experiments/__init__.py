"""SprayCheck's evaluation as commands, one file an experiment (sec. 5, App. A)."""
