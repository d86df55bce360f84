"""A run as people read it: the one way in for pages, reports, figures and the CLI.

    run directory --source.RunLog--> RunFacts --run.build--> RunView --> page | html
                                                                     --> json | junit

`source` reads files; everything else is pure: facts in, frozen dataclasses out. Nothing
here decides who is to blame or whether a verdict was right: `scout` and `checks` do,
and these modules only put their words and numbers in order, so that every surface
prints the same ones.
"""
