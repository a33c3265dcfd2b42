"""Cut GitHub's published schemas down to what punchlist uses of pull requests, for the stand-in of the tests.

    npm i @octokit/openapi @octokit/graphql-schema      # anywhere
    python tools/cut_github_schemas.py FOLDER/node_modules

Each query is checked against the whole schema first.
"""

import json
import sys
from pathlib import Path
from typing import Any

from graphql import (
    GraphQLSchema,
    TypeInfo,
    TypeInfoVisitor,
    Visitor,
    build_schema,
    get_named_type,
    parse,
    print_ast,
    validate,
    visit,
)
from graphql.language import ast

from punchlist.adapters.forges.github import queries
from punchlist.adapters.rest.github_app.permissions import ANSWERING

PLACE = Path(__file__).parent.parent / "tests" / "adapters" / "forges"
QUERIES = {
    name: value
    for name, value in vars(queries).items()
    if name.isupper() and not name.startswith("_") and isinstance(value, str)
}
OPERATIONS = {
    "/repos/{owner}/{repo}/pulls": ["get", "post"],
    "/repos/{owner}/{repo}/pulls/{pull_number}": ["get", "patch"],
    "/repos/{owner}/{repo}/pulls/{pull_number}/comments": ["post"],
    "/repos/{owner}/{repo}/pulls/{pull_number}/comments/{comment_id}/replies": ["post"],
    "/repos/{owner}/{repo}/pulls/comments/{comment_id}": ["patch", "delete"],
    "/repos/{owner}/{repo}/issues/{issue_number}/comments": ["post"],
    "/repos/{owner}/{repo}/issues/comments/{comment_id}": ["patch", "delete"],
    "/repos/{owner}/{repo}/commits/{ref}/check-runs": ["get"],
    "/repos/{owner}/{repo}/commits/{ref}/status": ["get"],
    "/repos/{owner}/{repo}/check-runs": ["post"],
    "/repos/{owner}/{repo}/check-runs/{check_run_id}": ["patch"],
    "/repos/{owner}/{repo}/check-runs/{check_run_id}/annotations": ["get"],
    "/repos/{owner}/{repo}/code-scanning/alerts": ["get"],
    "/repos/{owner}/{repo}/collaborators/{username}/permission": ["get"],
    "/repos/{owner}/{repo}/statuses/{sha}": ["post"],
    "/app": ["get"],
    "/repos/{owner}/{repo}/installation": ["get"],
    "/app/installations/{installation_id}/access_tokens": ["post"],
}
READ = frozenset(
    """
    annotation_level annotations_count base blob_href body check_runs context description end_line external_id full_name
    head html_url id level location login merged_at message most_recent_instance name number output path permission ref repo rule
    security_severity_level severity sha start_line state status statuses text title tool user
    """.split()
)
"""Fields of responses that punchlist reads."""
READ_OF_APPS = frozenset(
    "app_id expires_at html_url id name permissions repository_selection slug suspended_at token".split()
)
"""The same, of responses about an App itself."""
OF_APPS = tuple(path for path in OPERATIONS if path.startswith("/app") or "/installation" in path)
PERMISSIONS = frozenset(each.name for each in ANSWERING)
"""What an App is allowed, and a token of it asks for."""
KEPT = ("type", "required", "enum", "maximum", "minimum", "maxLength", "minLength", "maxItems", "nullable", "oneOf",
        "anyOf", "allOf")  # fmt: skip


def cut_openapi(document: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for path, methods in OPERATIONS.items():
        for method in methods:
            operation = document["paths"][path][method]
            body = (
                operation.get("requestBody", {})
                .get("content", {})
                .get("application/json", {})
                .get("schema")
            )
            asked = [
                each["name"] for each in operation.get("parameters", []) if each["in"] == "query"
            ]
            status, response = next(
                (code, it) for code, it in operation["responses"].items() if code[0] == "2"
            )
            answer = response.get("content", {}).get("application/json", {}).get("schema")
            found[f"{method.upper()} {path}"] = {
                "query": asked,
                "body": cut_schema(body, None),
                "status": int(status),
                "answer": cut_schema(answer, READ_OF_APPS if path in OF_APPS else READ),
            }
    return found


def cut_schema(
    schema: Any, names: frozenset[str] | None, *, branch: bool = False, allows: bool = False
) -> Any:
    """Return the schema with what judges a value; of properties only those named, if `names` are given. `allows`: it lists permissions."""
    if not isinstance(schema, dict):
        return schema
    kept = {key: schema[key] for key in KEPT if key in schema}
    for key in ("oneOf", "anyOf", "allOf"):
        if key in kept:
            kept[key] = [cut_schema(each, names, branch=True) for each in kept[key]]
    if kept.pop("nullable", False) and isinstance(kept.get("type"), str):
        kept["type"] = [kept["type"], "null"]
        if "enum" in kept:
            kept["enum"] = [*kept["enum"], None]
    if "items" in schema:
        kept["items"] = cut_schema(schema["items"], names)
    if "properties" in schema:
        fields = {
            name: each
            for name, each in schema["properties"].items()
            if (name in PERMISSIONS if allows else names is None or name in names)
        }
        kept["properties"] = {
            name: cut_schema(each, names, allows=name == "permissions")
            for name, each in fields.items()
        }
        if "required" in kept:
            kept["required"] = [name for name in kept["required"] if name in fields]
        if names is None and not branch:
            kept["additionalProperties"] = False
    return kept


class _Used(Visitor):
    """Collects by type the fields that a query uses."""

    def __init__(self, info: TypeInfo) -> None:
        super().__init__()
        self._info = info
        self.fields: dict[str, set[str]] = {}
        self.inputs: set[str] = set()

    def enter_field(self, node: ast.FieldNode, *_: Any) -> None:
        parent = self._info.get_parent_type()
        if parent is not None and not node.name.value.startswith("__"):
            self.fields.setdefault(parent.name, set()).add(node.name.value)

    def enter_argument(self, *_: Any) -> None:
        kind = get_named_type(self._info.get_input_type())
        if kind is not None:
            self.inputs.add(kind.name)


def cut_graphql(text: str) -> str:
    """Return the SDL with the used fields of the used types; raise SystemExit for a query that is not valid."""
    schema: GraphQLSchema = build_schema(text, assume_valid=True, assume_valid_sdl=True)
    info = TypeInfo(schema)
    used = _Used(info)
    for name, query in QUERIES.items():
        document = parse(query)
        if errors := validate(schema, document):
            raise SystemExit(f"{name}: {errors}")
        visit(document, TypeInfoVisitor(info, used))
    used.fields.setdefault("Node", set()).add("id")
    used.fields["Bot"] = {"login"}
    used.fields.setdefault("User", set()).add("login")
    parts = [
        print_ast(cut)
        for node in parse(text).definitions
        if (cut := _cut_definition(node, used)) is not None
    ]
    return "\n\n".join(parts) + "\n"


def _cut_definition(node: Any, used: _Used) -> Any:
    name = node.name.value if getattr(node, "name", None) else ""
    if isinstance(node, ast.ScalarTypeDefinitionNode):
        keep = name in ("BigInt", "URI")
        return ast.ScalarTypeDefinitionNode(name=node.name, directives=()) if keep else None
    if isinstance(node, ast.InputObjectTypeDefinitionNode) and name in used.inputs:
        fields = tuple(map(_plain_value, node.fields))
        return ast.InputObjectTypeDefinitionNode(name=node.name, directives=(), fields=fields)
    if isinstance(node, ast.EnumTypeDefinitionNode) and name == "PullRequestReviewState":
        values = tuple(
            ast.EnumValueDefinitionNode(name=each.name, directives=()) for each in node.values
        )
        return ast.EnumTypeDefinitionNode(name=node.name, directives=(), values=values)
    kinds = (ast.ObjectTypeDefinitionNode, ast.InterfaceTypeDefinitionNode)
    if not isinstance(node, kinds) or name not in used.fields:
        return None
    interfaces = tuple(
        each
        for each in node.interfaces or ()
        if each.name.value in ("Node", "Actor") and name != "Actor"
    )
    wanted = used.fields[name] | (
        {"id"} if any(i.name.value == "Node" for i in interfaces) else set()
    )
    wanted |= {"login"} if any(i.name.value == "Actor" for i in interfaces) else set()
    fields = tuple(_plain_field(each) for each in node.fields if each.name.value in wanted)
    return type(node)(name=node.name, interfaces=interfaces, directives=(), fields=fields)


def _plain_field(node: Any) -> Any:
    kept = [
        each
        for each in node.arguments or ()
        if each.name.value not in ("orderBy", "states", "author", "skip", "followRenames")
    ]
    arguments = tuple(map(_plain_value, kept))
    return ast.FieldDefinitionNode(
        name=node.name, type=node.type, arguments=arguments, directives=()
    )


def _plain_value(node: Any) -> Any:
    return ast.InputValueDefinitionNode(name=node.name, type=node.type, directives=())


def main() -> None:
    packages = Path(sys.argv[1]) / "@octokit"
    openapi = json.loads(
        (packages / "openapi" / "generated" / "api.github.com.deref.json").read_text()
    )
    cut = json.dumps(cut_openapi(openapi), indent=1, sort_keys=True)
    (PLACE / "github_rest.json").write_text(f"{cut}\n")
    schema = (packages / "graphql-schema" / "schema.graphql").read_text()
    (PLACE / "github.graphql").write_text(cut_graphql(schema))


if __name__ == "__main__":
    main()
