"""Find which functions a finding can be about: its own, what they use, and users of changes."""

import ast
import copy
import re
from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from punchlist.adapters.compare.changed_code import Function, find_changes
from punchlist.model.finding.python_source import parse_python
from punchlist.model.integrity.code_names import find_code_names

Texts = Mapping[str, tuple[str, str]]
"""By path: the file before and after the patch."""


class Relations(Struct, frozen=True):
    """Names whose behaviour the findings let change, and those that the patch can affect; methods
    go by their last name.
    """

    allowed: frozenset[str]
    affected: frozenset[str]


def find_relations(
    texts: Texts,
    spots: Iterable[tuple[str, int | None]],
    words: str,
    called: frozenset[str] = frozenset(),
) -> Relations:
    """Relate what changed to what the findings are about; `called` is what red tests call."""
    uses, changed = _read_names(texts)
    users: dict[str, set[str]] = {}
    for name, used in uses.items():
        for each in used:
            users.setdefault(each, set()).add(name)
    affected = frozenset(_close(changed, users))
    about = {name for path, line in spots for name in _names_at(texts, path, line)} | called
    about |= {name for name in uses if len(name) > 2 and name in words}
    reached = _close(about, uses)
    if not reached & changed:  # the place of the finding is not where it was fixed
        return Relations(frozenset({*uses, *affected}), affected)
    return Relations(frozenset(reached | _close(reached & changed, users)), affected)


def find_subjects(
    texts: Texts, spots: Iterable[tuple[str, int | None]], words: str
) -> frozenset[str]:
    """Return the functions at the places of the findings that their words name as calls; methods
    are left out, because what they do also depends on other code of their class.
    """
    found = set()
    for path, line in spots:
        tree = parse_python(texts.get(path, ("", ""))[0])
        for node in tree.body if tree is not None and line is not None else ():
            inside = node.lineno <= (line or 0) <= (node.end_lineno or 0)
            if inside and isinstance(node, Function):
                found |= {node.name} if re.search(rf"(?<![\w.]){node.name}\(", words) else set()
    return frozenset(found)


def _names_at(texts: Texts, path: str, line: int | None) -> set[str]:
    """Return the names at a place; all names of the file if the place says nothing."""
    old, new = texts.get(path, ("", ""))
    closest = find_code_names(path, old, line)[:1] if line is not None else []
    found = {name for each in closest for names in each.sets for name in names}
    return found or {name for text in (old, new) for name in _list_definitions(text)}


def _read_names(texts: Texts) -> tuple[dict[str, set[str]], set[str]]:
    """Return by definition the names it uses, and which definitions differ."""
    uses: dict[str, set[str]] = {}
    changed: set[str] = set()
    for old, new in texts.values():
        was, now = _list_definitions(old), _list_definitions(new)
        for name, node in (*was.items(), *now.items()):
            uses.setdefault(name, set()).update(_mentioned(node))
        changed |= {name for name in was.keys() | now.keys() if _differ(was, now, name)}
    return uses, changed


def _differ(was: Mapping[str, ast.AST], now: Mapping[str, ast.AST], name: str) -> bool:
    return name not in was or name not in now or ast.dump(was[name]) != ast.dump(now[name])


def _list_definitions(text: str) -> dict[str, ast.AST]:
    """Return functions, classes, methods and module-level names with what defines them."""
    tree = parse_python(text)
    found: dict[str, ast.AST] = {}
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, Function | ast.ClassDef):
            found[node.name] = node
    for node in tree.body if tree is not None else ():
        targets = node.targets if isinstance(node, ast.Assign) else ()
        found |= {each.id: node for each in targets if isinstance(each, ast.Name)}
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found[node.target.id] = node
    return found


def _mentioned(node: ast.AST) -> set[str]:
    own = {each.name for each in ast.walk(node) if isinstance(each, Function)}
    parts = list(ast.walk(node))
    names = {each.id for each in parts if isinstance(each, ast.Name)}
    return own | names | {each.attr for each in parts if isinstance(each, ast.Attribute)}


def _close(start: set[str], edges: Mapping[str, set[str]]) -> set[str]:
    """Return everything that can be reached."""
    found, waiting = set(start), list(start)
    while waiting:
        fresh = edges.get(waiting.pop(), set()) - found
        found |= fresh
        waiting += fresh
    return found


def changes_bodies_only(texts: Texts) -> bool:
    """Return whether a patch changes what functions do, and nothing else about them."""
    return all(
        old and not find_changes(path, old, new).apart and _keeps_heads(old, new)
        for path, (old, new) in texts.items()
    )


def keeps_definitions(texts: Texts) -> bool:
    """Return whether all that a test can ask the old files for is there as it was, but for what
    functions do: constants, classes, parameters. New statements do not touch what was there.
    """
    return all(old and _keeps_rest(old, new) for old, new in texts.values())


def _keeps_rest(old: str, new: str) -> bool:
    was, now = parse_python(old), parse_python(new)
    if was is None or now is None or not _keeps_heads(old, new):
        return False
    functions = {node.name for node in was.body if isinstance(node, Function)}
    rest = {_dump_rest(node) for node in was.body if not isinstance(node, Function)}
    added = [n for n in now.body if not isinstance(n, Function) and _dump_rest(n) not in rest]
    known = functions | {name for node in was.body for name in _bound(node)}
    touched = {each.id for n in added for each in ast.walk(n) if isinstance(each, ast.Name)}
    bound = {name for node in added for name in _bound(node)}
    return rest <= {_dump_rest(node) for node in now.body} | _docstrings(was) and not (
        known & (touched | bound)
    )


def _dump_rest(node: ast.stmt) -> str:
    """Dump a statement; a class without its methods."""
    if not isinstance(node, ast.ClassDef):
        return ast.dump(node)
    bare = copy.copy(node)
    bare.body = [each for each in node.body if not isinstance(each, Function)]
    return ast.dump(bare)


def _bound(node: ast.stmt) -> set[str]:
    """Return the names that a statement defines, but for imported ones."""
    if isinstance(node, Function | ast.ClassDef):
        return {node.name}
    names = (each for each in ast.walk(node) if isinstance(each, ast.Name))
    return {each.id for each in names if isinstance(each.ctx, ast.Store)}


def _docstrings(tree: ast.Module) -> set[str]:
    return {
        ast.dump(node)
        for node in tree.body
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }


def _keeps_heads(old: str, new: str) -> bool:
    """Return whether all functions keep their parameters and decorators, and no method is new."""
    was, now = dict(_list_heads(old)), dict(_list_heads(new))
    added = [name for name in now.keys() - was.keys() if "." in name or name.startswith("__")]
    return not added and all(now.get(name) == head for name, head in was.items())


def _list_heads(text: str) -> Iterator[tuple[str, str]]:
    tree = parse_python(text)
    body = tree.body if tree is not None else []
    classes = [node for node in body if isinstance(node, ast.ClassDef)]
    found: list[tuple[str, ast.AST]] = [("", node) for node in body]
    found += [(f"{node.name}.", each) for node in classes for each in node.body]
    for owner, node in found:
        if isinstance(node, Function):
            head = [ast.dump(each) for each in (*node.decorator_list, node.args)]
            yield f"{owner}{node.name}", f"{type(node).__name__} {head}"


def has_grown_table(texts: Texts) -> bool:
    """Return whether a collection of constants that was there before has more members now."""
    for old, new in texts.values():
        tables = _list_tables(old)
        if any(table > known for table in _list_tables(new) for known in tables):
            return True
    return False


def _list_tables(text: str) -> set[frozenset[str]]:
    tree = parse_python(text)
    found: set[frozenset[str]] = set()
    for node in ast.walk(tree) if tree is not None else ():
        parts = node.keys if isinstance(node, ast.Dict) else getattr(node, "elts", ())
        members = {ast.dump(each) for each in parts if isinstance(each, ast.Constant)}
        if isinstance(node, ast.expr) and len(members) > 1:
            found.add(frozenset(members))
    return found


def list_literals(texts: Iterable[str], most: int = 60) -> tuple[int | float | str, ...]:
    """Return short plain constants of the texts, as inputs."""
    found: dict[int | float | str, None] = {}
    for text in texts:
        tree = parse_python(text)
        for node in ast.walk(tree) if tree is not None else ():
            value = node.value if isinstance(node, ast.Constant) else None
            if isinstance(value, bool) or not isinstance(value, int | float | str):
                continue
            if len(str(value)) < 40 and str(value) != "nan":
                found.setdefault(value)
    return tuple(found)[:most]
