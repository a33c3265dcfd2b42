"""Two small files with defects, and what reviewers report of them."""

from punchlist.model.finding.finding import Finding, Fix, Safety, Splice, Spot
from punchlist.model.finding.severity import Severity

CART = '''"""The shopping cart."""
import os
import json
import random


def total(items, discounts=[]):
    """Sum of the items, after discounts."""
    sum = 0
    for i in range(len(items)):
        sum = sum + items[i].price
    if discounts != None:
        for discount in discounts:
            sum -= discount.of(sum)
    return sum


def load(path):
    f = open(path)
    return json.loads(f.read())


def voucher():
    return "".join(random.choice("ABCDEFGH") for _ in range(8))
'''
ORDERS = """import subprocess

from shop.cart import total


def export(name):
    subprocess.call("tar czf %s.tgz data" % name, shell=True)


def receipt(order):
    try:
        return "Total: {}".format(total(order.items))
    except:
        return None


def is_big(order):
    if order.total > 1000 == True:
        return True
    else:
        return False
"""
TEXTS = {"src/shop/cart.py": CART, "src/shop/orders.py": ORDERS}


def finding(
    source,
    rule,
    path,
    line,
    title,
    severity=Severity.MINOR,
    *,
    edit=None,
    safety=Safety.SAFE,
    **more,
) -> Finding:
    """A finding in one of the texts; `edit` is (what goes, what comes)."""
    text = TEXTS.get(path, "")
    lines = text.split("\n")
    code = "\n".join(lines[max(0, line - 2) : line + 1]) if text and line else ""
    fix = None
    if edit is not None:
        start = sum(len(each) + 1 for each in lines[: line - 1])
        start = text.index(edit[0], start)
        fix = Fix(
            (Splice(path, start, start + len(edit[0]), edit[1]),), safety, more.pop("fix_title", "")
        )
    name = f"{source}:{rule}:{path}:{line}"
    return Finding(
        id=name,
        source=source,
        rule=rule,
        title=title,
        spot=Spot(path, line),
        severity=severity,
        code=code,
        fix=fix,
        **more,
    )


def findings() -> dict[int, tuple[Finding, ...]]:
    cart, orders = "src/shop/cart.py", "src/shop/orders.py"
    found = [
        (
            finding(
                "ruff",
                "S602",
                orders,
                7,
                "`subprocess` call with `shell=True` identified, security issue",
                Severity.CRITICAL,
                url="https://docs.astral.sh/ruff/rules/subprocess-popen-with-shell-equals-true",
            ),
            finding(
                "bandit",
                "B602",
                orders,
                7,
                "subprocess call with shell=True identified, security issue.",
                Severity.CRITICAL,
                detail="Confidence: high. CWE-78: OS command injection.",
                url="https://cwe.mitre.org/data/definitions/78.html",
            ),
        ),
        (
            finding(
                "file:review.md",
                "",
                cart,
                7,
                "A discount list is shared between calls",
                Severity.CRITICAL,
                label="R-3",
                category="correctness",
                detail="`discounts=[]` is made once. Whoever appends to it changes the price of every later cart.",
                impact="customers get each other's discounts.",
                suggestion="Default to None and make the list inside.",
            ),
            finding(
                "ruff",
                "B006",
                cart,
                7,
                "Do not use mutable data structures for argument defaults",
                edit=("discounts=[]", "discounts=None"),
                safety=Safety.UNSAFE,
                fix_title="Replace with `None`; initialize within function",
            ),
        ),
        (
            finding(
                "ruff",
                "E711",
                cart,
                12,
                "Comparison to `None` should be `cond is not None`",
                Severity.MAJOR,
                edit=("discounts != None", "discounts is not None"),
                safety=Safety.UNSAFE,
                fix_title="Replace with `cond is not None`",
            ),
        ),
        (finding("ruff", "E722", orders, 13, "Do not use bare `except`", Severity.MAJOR),),
        (
            finding(
                "ruff",
                "SIM115",
                cart,
                19,
                "Use a context manager for opening files",
                Severity.MAJOR,
            ),
        ),
        (
            finding(
                "ruff",
                "S311",
                cart,
                24,
                "Standard pseudo-random generators are not suitable for cryptographic purposes",
                Severity.MAJOR,
            ),
            finding(
                "bandit",
                "B311",
                cart,
                24,
                "Standard pseudo-random generators are not suitable for security/cryptographic purposes.",
                Severity.MINOR,
            ),
        ),
        (
            finding(
                "file:review.md",
                "",
                "src/shop/legacy.py",
                40,
                "The old exporter still writes Latin-1",
                Severity.MAJOR,
                label="R-7",
                marks=("is not a file that git tracks here",),
            ),
        ),
        (
            finding(
                "ruff",
                "F401",
                cart,
                2,
                "`os` imported but unused",
                edit=("import os\n", ""),
                fix_title="Remove unused import: `os`",
            ),
        ),
        (finding("ruff", "A001", cart, 9, "Variable `sum` is shadowing a Python builtin"),),
        (
            finding(
                "ruff",
                "UP032",
                orders,
                12,
                "Use f-string instead of `format` call",
                edit=('"Total: {}".format(total(order.items))', 'f"Total: {total(order.items)}"'),
                fix_title="Convert to f-string",
            ),
        ),
        (
            finding(
                "ruff",
                "SIM103",
                orders,
                18,
                "Return the condition directly",
                edit=(
                    "if order.total > 1000 == True:\n        return True\n    else:\n        return False",
                    "return order.total > 1000 == True",
                ),
                safety=Safety.UNSAFE,
                fix_title="Inline condition",
            ),
        ),
        (
            finding(
                "ruff",
                "E712",
                orders,
                18,
                "Avoid equality comparisons to `True`",
                edit=(" == True", ""),
                safety=Safety.UNSAFE,
                fix_title="Replace comparison",
            ),
        ),
        (
            finding(
                "ruff",
                "I001",
                cart,
                2,
                "Import block is un-sorted or un-formatted",
                edit=(
                    "import os\nimport json\nimport random\n",
                    "import json\nimport os\nimport random\n",
                ),
                fix_title="Organize imports",
            ),
        ),
        (
            finding(
                "ruff", "D103", "src/shop/billing.py", 88, "Missing docstring in public function"
            ),
        ),
        (
            finding(
                "ruff",
                "F841",
                "src/shop/billing.py",
                120,
                "Local variable `vat` is assigned to but never used",
            ),
        ),
    ]
    return dict(enumerate(found, 1))
