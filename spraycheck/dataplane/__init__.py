"""Leaf switches that select, mark, prioritise, spray, count and compare.

`base` is their interface, `model` the executable specification; each further data plane
passes the same packet tests (`tests/conformance`).
"""
