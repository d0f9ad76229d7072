"""Prices and weights read from schemas/providers by Python alone: what a second calculation reckons with.

Knows what the example company's pools need of the files' shape: dated rows and prices of the standard tier. A weight
that is not whole or a long context raises, rather than be left out.
"""

import tomllib
from decimal import Decimal
from pathlib import Path

PROVIDERS = Path(__file__).resolve().parents[3] / "schemas" / "providers"
# Kinds of tokens, as prices and as weights name them.
PRICED = {"input": "input_uncached", "cache_read": "cache_read", "cache_write": "cache_write", "output": "output"}
WEIGHED = ("input_uncached", "cache_read", "cache_write", "output", "max_output")
MEASURES = ("input_tokens", "output_tokens", "tokens")
STAGES = ("admission", "settlement")
# What sells by the token what others sell by the unit.
ON_DEMAND = ("direct", "runtime", "standard")


def _files():
    return [tomllib.loads(path.read_text(), parse_float=Decimal) for path in sorted(PROVIDERS.glob("*.toml"))]


FILES = _files()


def _newest(dated, day):
    """The newest of what is in force on a day."""
    begun = [each for each in dated if each.get("from") is None or each["from"] <= day]
    begun = [each for each in begun if each.get("until") is None or day < each["until"]]
    return max(begun, key=lambda each: str(each.get("from") or ""), default=None)


def _row(pool, day):
    """The file and the row of a pool."""
    provider, product, scope, model = pool.split("/", 3)
    rows = [
        dict(row, file=file)
        for file in FILES
        if (file["provider"], file["product"]) == (provider, product)
        for row in file["entry"]
        if scope in row["scopes"] and model in row["models"]
    ]
    return _newest(rows, day)


def _prices(row, day):
    """Picodollars a token by kind; None where the row tells no price."""
    price = _newest([each for each in row.get("prices", []) if each.get("tier", "standard") == "standard"], day)
    if price is None:
        return dict.fromkeys(PRICED.values()) | {"longest": None}
    each = {kind: int(Decimal(price[name]) * 10**6) if name in price else None for name, kind in PRICED.items()}
    return each | {"longest": price.get("long_context", {}).get("above")}


def tariff(pool, day):
    """What a pool's tokens cost and weigh on a day, as one flat dict; None where no row is its own."""
    row = _row(pool, day)
    if row is None:
        return None
    file = row["file"]
    units = any(limit.get("from_units") for limit in file["limits"][row["limits"]])
    sold = row
    if units and not row.get("prices"):
        provider, _, scope, model = pool.split("/", 3)
        others = (_row(f"{provider}/{product}/{scope}/{model}", day) for product in ON_DEMAND)
        sold = next((other for other in others if other and other.get("prices")), row)
    meter = file["meter"][row["meter"]]
    assert "long_context" not in meter and meter.get("combine", "sum") == "sum", f"{pool}: not reckoned with here"
    told = {"pool": pool, "day": day, "units": units and not row.get("prices")}
    told |= {f"price_{kind}": price for kind, price in _prices(sold, day).items()}
    maximum = {"zero": 0, "model_maximum": row.get("max_output_tokens"), "unknown": None}[meter["unset_max_output"]]
    told |= {"unset": maximum, "refused": 0 if meter["refused"] == "free" else 1}
    for stage in STAGES:
        for measure in MEASURES:
            weights = meter[stage].get(measure, {})
            for kind in WEIGHED:
                weight = Decimal(weights.get(kind, 0))
                assert weight == int(weight), f"{pool}: {weight} is not whole, which is not reckoned with here"
                told[f"{stage}_{measure}_{kind}"] = int(weight)
    return told
