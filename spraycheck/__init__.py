"""SprayCheck: which leaf-spine link drops packets (`papers`: SprayCheck).

Leaf switches count, per spine, the packets of one measured flow. What is here decides
from such counts; switches, simulator and fabric come with their own issue. Imports only
`vocab` and the standard library.
"""
