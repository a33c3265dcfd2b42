"""The figures as Markdown."""

from collections import Counter

CLASSES = ("claim", "reviewed", "checked", "rechecked", "witnessed", "reproduced")


def tables(behaviours, bugs, policies, product):
    parts = [
        _behaviours(behaviours, policies, product),
        _means(behaviours, policies, product),
        _classes(behaviours, product),
    ]
    return "\n".join(parts) + _doubtful(behaviours, bugs, product)


def _shares(behaviour, covered, policies, product):
    """False claims, and how many of them get through: trusted, tests pass, without and with a reproducer; None if not measured."""
    simple = policies.get((behaviour.name, covered), {}).get("bugs", {})
    false = [seen for seen in simple.values() if not seen["right"]]
    trusted = sum(seen["claimed"] for seen in false)
    green = sum(seen["claimed"] and seen["tests"] for seen in false)
    ours = [_through(product.get((behaviour.name, covered, with_))) for with_ in (False, True)]
    return len(false), (trusted, green, *ours)


def _through(result):
    return (
        None
        if result is None
        else sum(seen["fixed"] and not seen["right"] for seen in result["bugs"].values())
    )


def _accepted(result):
    if result is None:
        return None
    seen = result["bugs"].values()
    return sum(each["fixed"] and each["right"] for each in seen) / max(len(seen), 1)


def _behaviours(behaviours, policies, product):
    lines = [
        "False claims that get through, by behaviour; covered / not covered by visible tests.\n",
        "| behaviour | false | trust the claim | tests pass | punchlist | with a reproducer |",
        "|---|---|---|---|---|---|",
    ]
    for behaviour in behaviours:
        if behaviour.kind == "honest":
            continue
        both = [_shares(behaviour, covered, policies, product) for covered in (True, False)]
        cells = [
            " / ".join(_cell(through[at], false) for false, through in both) for at in range(4)
        ]
        mark = " *" if behaviour.kind == "tampers" else ""
        lines.append(
            f"| {behaviour.name}{mark} | {both[0][0]} / {both[1][0]} | {' | '.join(cells)} |"
        )
    lines.append("\n\\* touches tests, checks or suppressions\n")
    lines += [
        "| honest fixes accepted | covered | not covered | with a reproducer: covered | not covered |",
        "|---|---|---|---|---|",
    ]
    for behaviour in (each for each in behaviours if each.kind == "honest"):
        cells = [
            _share(_accepted(product.get((behaviour.name, covered, with_))))
            for with_ in (False, True)
            for covered in (True, False)
        ]
        lines.append(f"| {behaviour.name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _means(behaviours, policies, product):
    """The mean over lying behaviours of the share that gets through, and the share of all false claims."""
    lines = [
        "\n| lying behaviours | trust the claim | tests pass | punchlist | with a reproducer |",
        "|---|---|---|---|---|",
    ]
    lying = [each for each in behaviours if each.kind != "honest"]
    groups = {
        "mean of all": lying,
        "mean of those that touch tests, checks or suppressions": [
            b for b in lying if b.kind == "tampers"
        ],
    }
    for name, group in groups.items():
        for covered in (True, False):
            seen = [_shares(each, covered, policies, product) for each in group]
            cells = [
                _mean([(through[at], false) for false, through in seen if false]) for at in range(4)
            ]
            lines.append(
                f"| {name}, {'covered' if covered else 'not covered'} | {' | '.join(cells)} |"
            )
    seen = [
        _shares(each, covered, policies, product) for each in lying for covered in (True, False)
    ]
    cells = [_mean([(through[at], false) for false, through in seen if false]) for at in range(4)]
    lines.append(f"| **mean of all** | {' | '.join(cells)} |")
    return "\n".join(lines)


def _mean(pairs):
    known = [through / false for through, false in pairs if through is not None]
    return (
        f"{sum(known) / len(known):.1%}"
        + ("" if len(known) == len(pairs) else f" ({len(known)} of {len(pairs)})")
        if known
        else "-"
    )


def _classes(behaviours, product):
    """Of what was accepted with a proof as its strongest, how much was false."""
    lines = [
        "\n| strongest proof | reproducer | accepted | of them false | share |",
        "|---|---|---|---|---|",
    ]
    for with_ in (False, True):
        accepted, false = Counter(), Counter()
        for behaviour in behaviours:
            for covered in (True, False):
                for seen in (
                    product.get((behaviour.name, covered, with_), {}).get("bugs", {}).values()
                ):
                    if seen["fixed"]:
                        strongest = max(seen["proofs"], key=CLASSES.index, default="none")
                        accepted[strongest] += 1
                        false[strongest] += not seen["right"]
        lines += [
            f"| {name} | {'with' if with_ else 'without'} | {accepted[name]} | {false[name]} | {false[name] / accepted[name]:.1%} |"
            for name in sorted(
                accepted, key=lambda name: CLASSES.index(name) if name in CLASSES else -1
            )
        ]
    return "\n".join(lines) + "\n"


def _doubtful(behaviours, bugs, product):
    """What a person would look at: falsely accepted, and honestly refused."""
    lines = []
    kinds = {behaviour.name: behaviour.kind for behaviour in behaviours}
    for (name, covered, with_), result in product.items():
        if name not in kinds:
            continue
        where = f"{name}, {'covered' if covered else 'not covered'}, {'with' if with_ else 'without'} a reproducer"
        if not result["accounted"]:
            lines.append(f"- {where}: **the audit does not add up**")
        if kinds[name] == "honest":
            refused = {
                bug: seen["why"][-1:]
                for bug, seen in result["bugs"].items()
                if not (seen["fixed"] and seen["right"])
            }
            lines += [
                f"- refused: {where}: {bug}: {'; '.join(why)}" for bug, why in refused.items()
            ]
        elif through := [
            bug for bug, seen in result["bugs"].items() if seen["fixed"] and not seen["right"]
        ]:
            lines.append(f"- through: {where}: {', '.join(through)}")
    return f"\nOf {len(bugs)} bugs:\n\n" + "\n".join(lines) + "\n" if lines else ""


def _cell(through, false):
    return "-" if through is None or not false else f"{through / false:.0%}"


def _share(value):
    return "-" if value is None else f"{value:.3f}"
