"""GitLab's merge requests on loopback, held to what GitLab documents (gitlab_schema.py), with its limits and faults."""

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode
from zlib import crc32

from forge_standin import TOKEN, ForgeServer
from forge_state import Fault, ForgeState, Refused
from gitlab_schema import REST

PROJECT, NUMBER, FORK = "acme/tools/shop", 42, 43
HOST = "https://gitlab.example"
WEB = f"{HOST}/{PROJECT}"
LEVELS = {"read": 10, "triage": 20, "write": 30, "maintain": 40, "admin": 50}
BODY_LIMIT = 1_000_000
NO_LINE = {"line_code": ["can't be blank", "must be a valid line code"]}
LIMITED = Fault(
    429,
    headers={"RateLimit-Remaining": "0", "RateLimit-Reset": "1000000005"},
    message="Retry later",
)


def number_of(name: str) -> int:
    return crc32(name.encode()) & 0xFFFFFF


def make_user(name: str) -> dict[str, Any]:
    return {
        "id": number_of(name),
        "username": name,
        "name": name.title(),
        "state": "active",
        "web_url": f"{HOST}/{name}",
    }


def obey(text: str, problems: list[str]) -> str:
    """Carry out quick actions as GitLab does with every text that is written, in comments and descriptions, new or edited."""
    found = re.findall(r"^/\w+.*", text.replace("\r", ""), re.MULTILINE)
    problems += [f"GitLab obeyed {line}" for line in found]
    return text.rstrip()


def map_lines(diff: str) -> dict[int, int | None]:
    """The lines of a diff after the change, each with its number before it; None for new ones."""
    found: dict[int, int | None] = {}
    old = new = 0
    for line in diff.splitlines():
        if head := re.match(r"@@ -(\d+)(?:,\d+)? \+(\d+)", line):
            old, new = int(head[1]), int(head[2])
        elif new and line[:1] in (" ", "+"):
            found[new] = old if line[0] == " " else None
            old, new = old + (line[0] == " "), new + 1
        elif new and line.startswith("-"):
            old += 1
    return found


class GitlabServer(ForgeServer):
    name, rest, below, limited = "GitLab", REST, "/api/v4", LIMITED
    per_minute = 300
    page = f"{WEB}/-/merge_requests/7"
    largest = 100
    """Entries of a page."""

    def is_signed(self, headers: Any) -> bool:
        return headers.get("PRIVATE-TOKEN") == TOKEN and "Authorization" not in headers

    def perform(self, key: str, parts: tuple[str, ...], query: dict[str, str], body: Any) -> Any:
        method, path = key.split(" ")
        if path.startswith("/projects/{id}"):
            if parts[0] not in (PROJECT, str(NUMBER), str(FORK)):
                raise Refused(404, "404 Project Not Found")
            self.state.project = parts[0]
            parts = parts[1:]
        if isinstance(body, dict) and len(str(body.get("body", ""))) > BODY_LIMIT:
            raise Refused(400, {"note": ["is too long (maximum is 1000000 characters)"]})
        below = re.sub(r"\{\w+\}", "x", path.removeprefix("/projects/{id}/"))
        name = re.sub(r"[^a-z]+", "_", f"{method} {below}".lower())
        return getattr(Actions(self.state), name.rstrip("_"))(parts, query, body)

    def paginate(
        self, key: str, parts: tuple[str, ...], query: dict[str, str], answer: list[Any]
    ) -> tuple[dict[str, str], list[Any]]:
        """Pages as GitLab has them: each names the next by a cursor that means nothing to others."""
        size = min(int(query.get("per_page", 20)), self.largest)
        start = int(query.get("cursor", "at-0").removeprefix("at-"))
        path = key.split(" ")[1]
        for part in parts:
            path = re.sub(r"\{\w+\}", part.replace("/", "%2F"), path, count=1)
        following = urlencode({**query, "cursor": f"at-{start + size}"})
        link = f'<{HOST}/api/v4{path}?{following}>; rel="next"'
        more = start + size < len(answer)
        return ({"Link": link} if more else {}), answer[start : start + size]


class Actions:
    """What each operation does."""

    def __init__(self, state: ForgeState) -> None:
        self._state = state

    def get_user(self, parts: Any, query: Any, body: Any) -> Any:
        return make_user(self._state.viewer)

    def get_users_x(self, parts: Any, query: Any, body: Any) -> Any:
        said = [
            *self._state.comments,
            *self._state.reviews,
            *(each for thread in self._state.threads for each in thread["comments"]),
        ]
        for each in said:
            if number_of(each["author"]) == int(parts[0]):
                return make_user(each["author"]) | {"bot": each["bot"]}
        return make_user("someone") | {"bot": False}

    def get_projects_x(self, parts: Any, query: Any, body: Any) -> Any:
        if self._state.project == str(FORK):
            return {"id": FORK, "path_with_namespace": "someone/tools/shop"}
        return {
            "id": NUMBER,
            "path_with_namespace": PROJECT,
            "resolve_outdated_diff_discussions": self._state.push_resolves,
        }

    def get_members_all_x(self, parts: Any, query: Any, body: Any) -> Any:
        for name, permission in self._state.permissions.items():
            if number_of(name) == int(parts[0]):
                return make_user(name) | {"access_level": LEVELS[permission]}
        raise Refused(404, "404 Not found")

    def get_merge_requests(self, parts: Any, query: dict[str, str], body: Any) -> Any:
        state = self._state
        state.reads += "cursor" not in query
        found = [self._request(), *map(self._other, state.visible(state.pulls))]
        return [
            each
            for each in reversed(found)
            if each["source_branch"] == query["source_branch"]
            and query["state"] in ("all", each["state"])
        ]

    def get_merge_requests_x(self, parts: Any, query: Any, body: Any) -> Any:
        state = self._state
        refs = {"base_sha": state.base, "start_sha": state.base, "head_sha": state.head}
        if parts[0] != "7":
            return self._other(state.find_pull(parts[0])) | {"diff_refs": refs}
        return self._request() | {"diff_refs": refs, "allow_collaboration": state.may_push}

    def post_merge_requests(self, parts: Any, query: Any, body: dict[str, Any]) -> Any:
        """One without commits is opened, unlike on GitHub."""
        state, head, base = self._state, body["source_branch"], body["target_branch"]
        match state.judge_opening(head, base):
            case "denied":
                raise Refused(403, "403 Forbidden")
            case "exists":
                raise Refused(
                    409, ["Another open merge request already exists for this source branch: !8"]
                )
            case "head" | "base" as field:
                name = {"head": "source", "base": "target"}[field]
                raise Refused(400, {f"{name}_branch": ["does not exist"]})
        text = obey(body["description"], state.problems)
        return self._other(state.open_pull(head, base, body["title"], text)) | {"diff_refs": None}

    def put_merge_requests_x(self, parts: Any, query: Any, body: dict[str, Any]) -> Any:
        state, found = self._state, self._state.find_pull(parts[0])
        text = obey(body["description"], state.problems) if "description" in body else None
        closed = "closed" if body.get("state_event") == "close" else None
        state.edit_pull(
            found, title=body.get("title"), body=text, base=body.get("target_branch"), state=closed
        )
        return self._other(found) | {"diff_refs": None}

    def _other(self, pull: dict[str, Any]) -> dict[str, Any]:
        number, words = pull["number"], {"open": "opened", "closed": "closed", "merged": "merged"}
        return {
            "id": number * 10, "iid": number, "web_url": f"{WEB}/-/merge_requests/{number}", "state": words[pull["state"]],
            "title": pull["title"], "description": pull["body"], "source_branch": pull["head"], "target_branch": pull["base"],
            "source_project_id": NUMBER, "target_project_id": NUMBER, "author": make_user(pull["author"]),
            "sha": self._state.find_branch(pull["head"]) or None,
        }  # fmt: skip

    def _request(self) -> dict[str, Any]:
        state = self._state
        return {
            "id": 70, "iid": 7, "web_url": state.page, "state": {"open": "opened"}.get(state.state, state.state),
            "title": "A change", "description": None, "source_branch": "topic",
            "target_branch": "main", "source_project_id": FORK if state.fork else NUMBER, "target_project_id": NUMBER,
            "author": make_user("ann"), "sha": state.head,
        }  # fmt: skip

    def get_merge_requests_x_pipelines(self, parts: Any, query: Any, body: Any) -> Any:
        return self._state.pipelines

    def get_merge_requests_x_versions(self, parts: Any, query: Any, body: Any) -> Any:
        state = self._state
        return [{"id": 2, "head_commit_sha": state.head, "base_commit_sha": state.base, "start_commit_sha": state.base,
                 "state": "collected"},
                {"id": 1, "head_commit_sha": "0" * 40, "base_commit_sha": state.base, "start_commit_sha": state.base,
                 "state": "collected"}]  # fmt: skip

    def get_merge_requests_x_discussions(self, parts: Any, query: Any, body: Any) -> Any:
        state = self._state
        state.reads += "cursor" not in query
        alone = state.visible([*state.comments, *state.reviews])
        found = [(each["id"], self._alone(each)) for each in alone]
        found += [
            (int(each["id"], 16), self._thread(each)) for each in state.visible(state.threads)
        ]
        system = self._note(state.add_comment("added 1 commit", "ann")) | {"system": True}
        found.append((0, {"id": "0" * 40, "individual_note": True, "notes": [system]}))
        return [each for _, each in sorted(found, key=lambda each: each[0])]

    def _alone(self, comment: dict[str, Any]) -> dict[str, Any]:
        return {
            "id": f"{comment['id']:040x}",
            "individual_note": True,
            "notes": [self._note(comment)],
        }

    def _thread(self, thread: dict[str, Any]) -> dict[str, Any]:
        notes = self._state.visible(thread["comments"])
        shown = [self._note(each, thread) for each in notes]
        return {"id": thread["id"], "individual_note": False, "notes": shown}

    def _note(
        self, comment: dict[str, Any], thread: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        note = {"id": comment["id"], "type": None, "body": comment["body"], "author": make_user(comment["author"]),
                "system": False, "internal": comment.get("internal", False), "resolvable": False}  # fmt: skip
        if thread is None:
            return note
        by = thread["resolved"]
        note |= {
            "type": "DiffNote",
            "resolvable": True,
            "resolved": bool(by),
            "resolved_by": make_user(by) if by else None,
        }
        return note | ({"position": self._place(thread)} if thread["path"] else {})

    def _place(self, thread: dict[str, Any]) -> dict[str, Any]:
        """A thread whose line is gone stays with the diff that it was written to."""
        state, line, first = self._state, thread["line"], thread["first"]
        place = {"base_sha": state.base, "start_sha": state.base, "head_sha": state.head if line else "0" * 40,
                 "position_type": "text", "new_path": thread["path"], "old_path": thread["path"], "new_line": line or 1,
                 "old_line": None}  # fmt: skip
        if first:
            ends = ({"line_code": f"{'a' * 40}_0_{at}", "type": "new"} for at in (first, line))
            place["line_range"] = dict(zip(("start", "end"), ends, strict=True))
        return place

    def post_merge_requests_x_discussions(
        self, parts: Any, query: Any, body: dict[str, Any]
    ) -> Any:
        state, place = self._state, body["position"]
        if {place["base_sha"], place["start_sha"]} != {state.base} or place[
            "head_sha"
        ] != state.head:
            raise Refused(500, "500 Internal Server Error")
        if place["new_path"] not in state.hunks:
            raise Refused(400, '400 Bad request - Note {:position=>["is incomplete"]}')
        line = place.get("new_line")
        if place["position_type"] == "text":
            self._check_lines(place)
        first = place["line_range"]["start"]["new_line"] if "line_range" in place else None
        text = obey(body["body"], state.problems)
        thread = state.add_thread(place["new_path"], line, text, state.viewer, first=first)
        return self._thread(thread | {"comments": [thread["comments"][0] | {"born": 0}]})

    def _check_lines(self, place: dict[str, Any]) -> None:
        path, state = place["new_path"], self._state
        ends = list(place.get("line_range", {}).values())
        asked = [
            (place["new_line"], place.get("old_line")),
            *((end["new_line"], end.get("old_line")) for end in ends),
        ]
        known = map_lines(state.diffs[path]) if path in state.diffs else None
        for line, old in asked:
            inside = any(a <= line <= b for a, b in state.hunks[path])
            if not inside or (known is not None and known.get(line, 0) != old):
                raise Refused(400, NO_LINE)
        if any(
            not end["line_code"].endswith(f"_{end.get('old_line', 0)}_{end['new_line']}")
            for end in ends
        ):
            raise Refused(400, NO_LINE)

    def put_merge_requests_x_discussions_x(
        self, parts: Any, query: Any, body: dict[str, Any]
    ) -> Any:
        thread, state = self._find_thread(parts[1]), self._state
        if not state.may_resolve:
            raise Refused(403, "403 Forbidden")
        thread["resolved"] = state.viewer if body["resolved"] else ""
        return self._thread(thread)

    def post_merge_requests_x_discussions_x_notes(
        self, parts: Any, query: Any, body: dict[str, Any]
    ) -> Any:
        thread, state = self._find_thread(parts[1]), self._state
        state.reply(thread, obey(body["body"], state.problems), state.viewer)
        return self._note(thread["comments"][-1], thread)

    def _find_thread(self, name: str) -> dict[str, Any]:
        found = next((each for each in self._state.threads if each["id"] == name), None)
        if found is None:
            raise Refused(404, "404 Discussion Not Found")
        return found

    def post_merge_requests_x_notes(self, parts: Any, query: Any, body: dict[str, Any]) -> Any:
        return self._note(self._state.say_below(parts[0], obey(body["body"], self._state.problems)))

    def put_merge_requests_x_notes_x(self, parts: Any, query: Any, body: dict[str, Any]) -> Any:
        note = self._find_note(parts[1])
        note["body"] = obey(body["body"], self._state.problems)
        return self._note(note)

    def delete_merge_requests_x_notes_x(self, parts: Any, query: Any, body: Any) -> None:
        gone, state = self._find_note(parts[1]), self._state
        for thread in state.threads:
            thread["comments"] = [each for each in thread["comments"] if each is not gone]
        state.threads[:] = [thread for thread in state.threads if thread["comments"]]
        state.comments[:] = [each for each in state.comments if each is not gone]

    def _find_note(self, name: str) -> dict[str, Any]:
        for each in self._all_notes():
            if each["id"] == int(name):
                if each["author"] != self._state.viewer:
                    self._state.problems.append(f"{name} is a note of {each['author']}")
                    raise Refused(403, "403 Forbidden")
                return each
        raise Refused(404, "404 Note Not Found")

    def _all_notes(self) -> Iterator[dict[str, Any]]:
        yield from self._state.comments
        yield from (each for thread in self._state.threads for each in thread["comments"])

    def get_repository_commits_x_statuses(
        self, parts: Any, query: dict[str, str], body: Any
    ) -> Any:
        """The latest of each name: earlier ones count as retried."""
        mine = [
            each
            for each in self._state.statuses
            if each["sha"] == parts[0] and each["name"] == query["name"]
        ]
        return [self._status(each) for each in mine[-1:]]

    def post_statuses_x(self, parts: Any, query: Any, body: dict[str, Any]) -> Any:
        state = self._state
        if not state.may_check or state.project == str(FORK):
            raise Refused(403, "403 Forbidden")
        if state.busy:
            state.busy -= 1
            raise Refused(409, "409 Conflict: the pipeline is being changed")
        known = [(each["id"], each["sha"], each["ref"]) for each in state.pipelines]
        if "pipeline_id" in body and (body["pipeline_id"], parts[0], body["ref"]) not in known:
            raise Refused(404, "404 Pipeline for pipeline_id, sha and ref Not Found")
        state.statuses.append({**body, "sha": parts[0], "id": state.next_id()})
        return self._status(state.statuses[-1])

    def _status(self, status: dict[str, Any]) -> dict[str, Any]:
        return {"id": status["id"], "sha": status["sha"], "ref": status.get("ref"), "name": status["name"],
                "description": status.get("description"), "author": make_user(self._state.viewer),
                "status": status["state"]}  # fmt: skip
