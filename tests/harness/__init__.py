"""What tests, demo and benchmarks share: starting the real programs, asking them, ending them.

Every process is ended by its recorded pid, also when a test fails, and dies with the program that
started it. Waiting is always for a condition with a deadline (wait.until), never for time to pass.
Only the standard library is used.
"""
