"""What GitLab says of the operations that punchlist uses: parameters, bodies and answers, as JSON Schemas.

Projects, members, merge requests, their versions and pipelines, commit statuses and issues are compared with GitLab's OpenAPI document
(`tools/compare_schemas.py`). Its version 2 has neither users, labels, discussions nor notes: of these this is what the pages of GitLab's
REST API say (users, labels, discussions, notes), and `line_range` is as the code of the server reads it.
"""

from typing import Any

TEXT: dict[str, Any] = {"type": "string"}
NUMBER: dict[str, Any] = {"type": "integer"}
TRUTH: dict[str, Any] = {"type": "boolean"}
SHA = {"type": "string", "pattern": "^[0-9a-z]{40}$"}


def maybe(schema: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [schema, {"type": "null"}]}


def record(needed: dict[str, Any], more: dict[str, Any] | None = None) -> dict[str, Any]:
    """An object of these fields and no others."""
    fields = needed | (more or {})
    return {"type": "object", "properties": fields, "required": list(needed), "additionalProperties": False}  # fmt: skip


def listed(schema: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": schema}


def operation(
    query: str = "", *, body: Any = None, status: int = 200, answer: Any = None
) -> dict[str, Any]:
    return {"query": query.split(), "body": body, "status": status, "answer": answer}


PAGED = "page per_page cursor"
USER = record(
    {
        "id": NUMBER,
        "username": TEXT,
        "name": TEXT,
        "state": {"enum": ["active", "blocked"]},
        "web_url": TEXT,
    }
)
REFS = record({"base_sha": SHA, "head_sha": SHA, "start_sha": SHA})
END = record(
    {"line_code": TEXT, "type": {"enum": ["new", "old", None]}},
    {"old_line": maybe(NUMBER), "new_line": maybe(NUMBER)},
)
PLACE = record(
    {"base_sha": SHA, "head_sha": SHA, "start_sha": SHA, "position_type": {"enum": ["text", "image", "file"]},
     "new_path": TEXT, "old_path": TEXT},
    {"new_line": maybe(NUMBER), "old_line": maybe(NUMBER), "line_range": maybe(record({"start": END, "end": END}))},
)  # fmt: skip
NOTE = record(
    {"id": NUMBER, "type": {"enum": ["DiffNote", "DiscussionNote", None]}, "body": TEXT, "author": USER, "system": TRUTH,
     "resolvable": TRUTH},
    {"resolved": TRUTH, "resolved_by": maybe(USER), "position": PLACE, "internal": TRUTH, "confidential": maybe(TRUTH)},
)  # fmt: skip
DISCUSSION = record({"id": TEXT, "individual_note": TRUTH, "notes": listed(NOTE)})
LISTED_REQUEST = record(
    {"id": NUMBER, "iid": NUMBER, "web_url": TEXT, "state": {"enum": ["opened", "closed", "locked", "merged"]}, "title": TEXT,
     "source_branch": TEXT, "target_branch": TEXT, "source_project_id": maybe(NUMBER), "target_project_id": NUMBER,
     "author": USER, "sha": maybe(SHA), "description": maybe(TEXT)},
    {"allow_collaboration": TRUTH},
)  # fmt: skip
REQUEST = {
    **LISTED_REQUEST,
    "properties": LISTED_REQUEST["properties"] | {"diff_refs": maybe(REFS)},
}
VERSION = record(
    {
        "id": NUMBER,
        "head_commit_sha": SHA,
        "base_commit_sha": SHA,
        "start_commit_sha": SHA,
        "state": TEXT,
    }
)
STATUS = record({"id": NUMBER, "sha": SHA, "ref": maybe(TEXT), "name": TEXT, "description": maybe(TEXT), "author": USER,
                 "status": {"enum": ["pending", "running", "success", "failed", "canceled", "skipped"]}})  # fmt: skip
PIPELINE = record({"id": NUMBER, "sha": SHA, "ref": TEXT, "status": TEXT}, {"project_id": NUMBER})
NEW_STATUS = record(
    {"state": {"enum": ["pending", "running", "success", "failed", "canceled", "skipped"]}},
    {
        "ref": TEXT,
        "name": TEXT,
        "description": TEXT | {"maxLength": 255},
        "target_url": TEXT,
        "pipeline_id": NUMBER,
    },
)
PROJECT = record(
    {"id": NUMBER, "path_with_namespace": TEXT},
    {
        "archived": TRUTH,
        "resolve_outdated_diff_discussions": maybe(TRUTH),
        "issues_access_level": {"enum": ["enabled", "private", "disabled"]},
    },
)
ISSUE = record({"id": NUMBER, "iid": NUMBER, "web_url": TEXT, "state": {"enum": ["opened", "closed"]}, "title": TEXT,
                "description": maybe(TEXT), "author": USER, "labels": listed(TEXT)})  # fmt: skip
LABEL = record({"id": NUMBER, "name": TEXT, "color": TEXT, "description": maybe(TEXT)})
_TITLE = TEXT | {"maxLength": 255}
_REQUEST = "/projects/{id}/merge_requests/{iid}"

REST = {
    "GET /user": operation(answer=USER),
    "GET /users/{id}": operation(answer=record(USER["properties"] | {"bot": TRUTH})),
    "GET /projects/{id}": operation(answer=PROJECT),
    "GET /projects/{id}/members/all/{user}": operation(
        answer=record(USER["properties"] | {"access_level": {"enum": [5, 10, 15, 20, 30, 40, 50]}})
    ),
    "GET /projects/{id}/merge_requests": operation(f"source_branch state {PAGED}", answer=listed(LISTED_REQUEST)),
    "POST /projects/{id}/merge_requests": operation(
        body=record(
            {"source_branch": TEXT, "target_branch": TEXT, "title": _TITLE},
            {"description": TEXT, "remove_source_branch": TRUTH, "allow_collaboration": TRUTH},
        ),
        status=201, answer=REQUEST,
    ),
    f"GET {_REQUEST}": operation(answer=REQUEST),
    f"PUT {_REQUEST}": operation(
        body=record({}, {"title": _TITLE, "description": TEXT, "target_branch": TEXT, "remove_source_branch": TRUTH,
                         "state_event": {"enum": ["close", "reopen"]}}),
        answer=REQUEST,
    ),
    f"GET {_REQUEST}/pipelines": operation(PAGED, answer=listed(PIPELINE)),
    f"GET {_REQUEST}/versions": operation(PAGED, answer=listed(VERSION)),
    f"GET {_REQUEST}/discussions": operation(PAGED, answer=listed(DISCUSSION)),
    f"POST {_REQUEST}/discussions": operation(
        body=record({"body": TEXT}, {"position": PLACE}), status=201, answer=DISCUSSION
    ),
    f"PUT {_REQUEST}/discussions/{{discussion}}": operation(body=record({"resolved": TRUTH}), answer=DISCUSSION),
    f"POST {_REQUEST}/discussions/{{discussion}}/notes": operation(
        body=record({"body": TEXT}), status=201, answer=NOTE
    ),
    f"POST {_REQUEST}/notes": operation(body=record({"body": TEXT}), status=201, answer=NOTE),
    f"PUT {_REQUEST}/notes/{{note}}": operation(body=record({"body": TEXT}), answer=NOTE),
    f"DELETE {_REQUEST}/notes/{{note}}": operation(status=204),
    "GET /projects/{id}/repository/commits/{sha}/statuses": operation(
        f"name ref stage all {PAGED}", answer=listed(STATUS)
    ),
    "POST /projects/{id}/statuses/{sha}": operation(body=NEW_STATUS, status=201, answer=STATUS),
    "GET /projects/{id}/issues": operation(
        f"labels order_by sort scope search in state {PAGED}", answer=listed(ISSUE)
    ),
    "GET /projects/{id}/issues/{iid}": operation(answer=ISSUE),
    "POST /projects/{id}/issues": operation(
        body=record({"title": _TITLE}, {"description": TEXT, "labels": listed(TEXT)}), status=201, answer=ISSUE
    ),
    "PUT /projects/{id}/issues/{iid}": operation(
        body=record({}, {"description": TEXT, "state_event": {"enum": ["close", "reopen"]}, "title": _TITLE}), answer=ISSUE
    ),
    "GET /projects/{id}/labels/{label}": operation(answer=LABEL),
    "POST /projects/{id}/labels": operation(
        body=record({"name": TEXT, "color": TEXT}, {"description": TEXT}), status=201, answer=LABEL
    ),
}  # fmt: skip
