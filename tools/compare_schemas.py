"""Compare what the stand-ins of GitLab and Gitea hold requests and answers to with the forges' own OpenAPI documents.

    python tools/compare_schemas.py gitlab openapi_v3.yaml     # doc/api/openapi/ of GitLab; openapi_v2.yaml has a part of it
    python tools/compare_schemas.py gitea v1-swagger.generated.json    # templates/swagger/ of Gitea, or v1_json.tmpl of Forgejo

The documents are no part of this repository. What differs is printed, and what a document lacks; the exit code is 1 if something
differs. In answers, documents call fields whose type nobody wrote down `string`: there only other types are compared.
"""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

PLACE = Path(__file__).parent.parent / "tests" / "adapters" / "forges"
METHODS = ("get", "post", "put", "patch", "delete")
PAGES = frozenset({"page", "per_page", "cursor"})
"""All lists of GitLab have pages, also where the document does not repeat it."""
Schema = dict[str, Any]
_CREATED = 201
"""Servers answer so to what is made; some documents say 200."""


class Document:
    """An OpenAPI document of version 2 or 3."""

    def __init__(self, text: str) -> None:
        plain = re.sub(r"\{\{[^}]*\}\}", "x", text)  # Forgejo's is a template
        self._root: Schema = yaml.safe_load(plain)
        self._operations = {
            f"{method.upper()} {_bare(path)}": operation
            for path, item in self._root["paths"].items()
            for method, operation in item.items()
            if method in METHODS
        }

    def find(self, key: str) -> Schema | None:
        return self._operations.get(_bare(key))

    def resolve(self, schema: Any) -> Schema:
        """Return a schema, or part of one, that is no reference."""
        found = schema or {}
        while "$ref" in found:
            place: Any = self._root
            for part in found["$ref"].removeprefix("#/").split("/"):
                place = place[part]
            found = place
        return dict(found)

    def list_queries(self, operation: Schema) -> set[str]:
        parameters = map(self.resolve, operation.get("parameters", []))
        return {each["name"].removesuffix("[]") for each in parameters if each["in"] == "query"}

    def find_body(self, operation: Schema) -> Schema:
        for each in map(self.resolve, operation.get("parameters", [])):
            if each["in"] == "body":
                return self.resolve(each["schema"])
        content = self.resolve(operation.get("requestBody")).get("content", {})
        return self.resolve(next(iter(content.values()), {}).get("schema"))

    def find_answer(self, operation: Schema, status: int) -> tuple[bool, Schema]:
        """Return whether an answer of this status is declared, and its schema."""
        codes = operation["responses"]
        made = codes.get(str(status)) or (codes.get("200") if status == _CREATED else None)
        response = self.resolve(made)
        content = next(iter(response.get("content", {}).values()), response)
        return bool(response), self.resolve(content.get("schema"))


def _bare(path: str) -> str:
    """Return a path without the names of its parts, which documents choose differently."""
    return re.sub(r"\{\w+\}", "{}", path.replace("/api/v4/", "/"))


def compare_operation(document: Document, operation: Schema, ours: Schema) -> Iterator[str]:
    """Yield what the document does not say of an operation, and we do."""
    unknown = set(ours["query"]) - document.list_queries(operation) - PAGES
    yield from (f"no parameter {name}" for name in sorted(unknown))
    if ours["body"]:
        theirs = document.find_body(operation)
        yield from compare_schemas(document, ours["body"], theirs, "body", asked=True)
    declared, answer = document.find_answer(operation, ours["status"])
    if not declared:
        yield f"no status {ours['status']}, but {', '.join(operation['responses'])}"
    if ours["answer"] and answer:
        single = ours["answer"].get("items", ours["answer"])  # some lists are declared as one entry
        wanted = ours["answer"] if answer.get("type") == "array" else single
        yield from compare_schemas(document, wanted, answer, "answer", asked=False)


def compare_schemas(
    document: Document, ours: Schema, theirs: Schema, place: str, *, asked: bool
) -> Iterator[str]:
    """Yield what of our schema theirs does not know, and, of requests, what it needs."""
    choices = [each for each in ours.get("anyOf", [ours]) if each.get("type") != "null"]
    mine, known = choices[0], document.resolve(theirs)
    kinds = mine.get("type") or []
    kind = next((each for each in [kinds, *kinds] if isinstance(each, str) and each != "null"), "")
    told = known.get("type", "object" if "properties" in known else "")
    if kind and told and kind != told and (asked or told != "string"):
        yield f"{place} is {told}, not {kind}"
        return
    extra = {each for each in mine.get("enum", ()) if each} - set(known.get("enum", ()))
    if extra and "enum" in known:
        yield f"{place} has no {', '.join(sorted(map(str, extra)))}"
    if "items" in mine:
        yield from compare_schemas(
            document, mine["items"], known.get("items", {}), place, asked=asked
        )
    fields = known.get("properties", {})
    for name, each in mine.get("properties", {}).items() if fields else ():
        if name not in fields:
            yield f"{place} has no {name}"
        else:
            yield from compare_schemas(document, each, fields[name], f"{place}.{name}", asked=asked)
    if asked:
        missing = set(known.get("required", ())) - set(mine.get("required", ()))
        yield from (f"{place} needs {name}" for name in sorted(missing))


def load_table(forge: str) -> Schema:
    """Return what the stand-in of a forge holds requests and answers to."""
    if forge == "gitea":
        return dict(json.loads((PLACE / "gitea_rest.json").read_text()))
    sys.path.insert(0, str(PLACE))
    from gitlab_schema import REST

    return dict(REST)


def main() -> None:
    forge, *files = sys.argv[1:]
    documents = [Document(Path(file).read_text()) for file in files]
    differs = False
    for key, ours in load_table(forge).items():
        known = [(each, found) for each in documents if (found := each.find(key))]
        lines = [line for each, found in known[:1] for line in compare_operation(each, found, ours)]
        differs |= bool(lines)
        if not known or lines:
            print(key, *(lines if known else ["is not in the document"]), sep="\n    ")
    sys.exit(differs)


if __name__ == "__main__":
    main()
