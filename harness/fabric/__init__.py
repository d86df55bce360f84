"""The network between hosts, as far as a scenario asks for one (DESIGN sec. 7).

`settings` is the scenario's block, `player` plays a step's collectives, `detection`
is SprayCheck beside it, `simulated` the process of both, `endpoint` the rank's part.
"""
