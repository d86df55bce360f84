"""Words that every part of Faultyard shares; standard library only (DESIGN sec. 2.3).

`names` says how ranks, nodes and links are called, `graph` is the leaf-spine graph,
`events` and `verdict` are the values that travel through the run directory, `codec`
turns them into JSON and back, `intervals` says how sure a counted rate is. Only
`journal`, the event writer, does I/O.
"""
