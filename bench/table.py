"""How our benchmarks print what they measured: a table with the targets beside the figures."""


def print_table(rows):
    """Rows are (what, value, unit, target); a target of None is no bound."""
    width = max(len(what) for what, *_ in rows)
    print(f"{'what':{width}}  {'measured':>10}  {'target':>10}")
    for what, value, unit, target in rows:
        fits = "" if target is None or value <= target else "  over"
        target = "" if target is None else f"{target:g} {unit}"
        print(f"{what:{width}}  {f'{value:.3g} {unit}':>10}  {target:>10}{fits}", flush=True)
