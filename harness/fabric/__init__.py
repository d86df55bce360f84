"""The network between hosts, as far as a scenario asks for one (DESIGN sec. 7).

`settings` is the scenario's block, `player` plays a step's collectives, `detection`
is SprayCheck beside it, `carrier` puts both together, `simulated` is the process of a
run and `endpoint` the rank's part; `replay` does it again with other seeds.
"""
