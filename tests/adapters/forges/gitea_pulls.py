"""Gitea's pull requests on loopback: stateful, held to its own schema (gitea_rest.json), with its pages and its gaps: no comments on
whole files, no check runs, and, in most versions, neither answers in threads nor resolving them.
"""

import json
import re
from dataclasses import dataclass, field
from typing import Any, ClassVar

from forge_standin import HERE, TOKEN, ForgeServer
from forge_state import ForgeState, Refused

WEB = "https://gitea.example/acme/shop"
PAGE = 50


@dataclass
class GiteaState(ForgeState):
    version: str = "1.27.0"
    issues: list[dict[str, Any]] = field(default_factory=list)
    labels: list[dict[str, Any]] = field(default_factory=list)
    may_ask: bool = True
    """The token's user is an administrator of the repository."""

    def add_thread(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """A thread is a review, and has the number of its first comment."""
        thread = super().add_thread(*args, **kwargs)
        thread |= {"id": str(thread["comments"][0]["id"]), "review": self.next_id(), "first": None}
        return thread

    @property
    def number(self) -> tuple[int, ...]:
        if "+gitea" in self.version:
            return (0, 0)
        return tuple(map(int, re.findall(r"\d+", self.version)[:2]))

    def delete_comment(self, gone: dict[str, Any]) -> None:
        super().delete_comment(gone)
        for thread in self.threads:
            thread["id"] = str(thread["comments"][0]["id"])


class Actions:
    """What each operation does; by its name in gitea_rest.json."""

    def __init__(self, state: GiteaState) -> None:
        self._state = state

    def get_version(self, parts: Any, query: Any, body: Any) -> Any:
        return {"version": self._state.version}

    def get_user(self, parts: Any, query: Any, body: Any) -> Any:
        return _user(self._state.viewer)

    def get_pulls(self, parts: Any, query: dict[str, str], body: Any) -> Any:
        """All of them, the newest first; `poster` is known since 1.24."""
        state = self._state
        state.reads += "page" not in query
        found = [self._pull(), *map(self._other, state.visible(state.pulls))]
        shown = [each for each in reversed(found) if query["state"] in ("all", each["state"])]
        poster = query.get("poster", "") if state.number >= (1, 24) else ""
        return [each for each in shown if poster in ("", each["user"]["login"])]

    def get_pulls_x(self, parts: Any, query: Any, body: Any) -> Any:
        return self._pull() if parts[0] == "7" else self._other(self._state.find_pull(parts[0]))

    def post_pulls(self, parts: Any, query: Any, body: dict[str, Any]) -> Any:
        """An empty one is opened, unlike elsewhere."""
        head, base = body["head"], body["base"]
        match self._state.judge_opening(head, base):
            case "denied":
                raise Refused(403, "user should have a permission to write to the target branch")
            case "exists":
                raise Refused(
                    409,
                    f"pull request already exists for these targets [head_branch: {head}, base_branch: {base}]",
                )
            case "head" | "base":
                raise Refused(404, "The target couldn't be found.")
        return self._other(self._state.open_pull(head, base, body["title"], body["body"]))

    def patch_pulls_x(self, parts: Any, query: Any, body: dict[str, Any]) -> Any:
        found = self._state.find_pull(parts[0])
        if "base" in body and not self._state.find_branch(body["base"]):
            raise Refused(404, "new base does not exist")
        self._state.edit_pull(found, **body)
        return self._other(found)

    def _other(self, pull: dict[str, Any]) -> dict[str, Any]:
        """A branch that is deleted has only its label."""
        number, here = pull["number"], {"full_name": "acme/shop"}
        branches = {
            side: {"label": name, "sha": self._state.find_branch(name) or "0" * 40, "repo": here,
                   "ref": name if self._state.find_branch(name) else f"refs/pull/{number}/head"}
            for side, name in (("head", pull["head"]), ("base", pull["base"]))
        }  # fmt: skip
        return {"number": number, "html_url": f"{WEB}/pulls/{number}", "state": "open" if pull["state"] == "open" else "closed",
                "merged": pull["state"] == "merged", "title": pull["title"], "body": pull["body"],
                "user": _user(pull["author"]), **branches}  # fmt: skip

    def _pull(self) -> dict[str, Any]:
        state = self._state
        theirs = "someone/shop" if state.fork else "acme/shop"
        return {
            "number": 7, "html_url": f"{WEB}/pulls/7", "state": state.state, "title": "A change", "user": _user("ann"),
            "head": {"label": "topic", "sha": state.head, "ref": "topic", "repo": {"full_name": theirs}},
            "base": {"label": "main", "sha": state.base, "ref": "main", "repo": {"full_name": "acme/shop"}},
        }  # fmt: skip

    def get_pulls_x_reviews(self, parts: Any, query: Any, body: Any) -> Any:
        self._state.reads += 1
        said = [
            {**self._review(each["review"], each["comments"][0]["author"], "", "COMMENT"),
             "comments_count": len(self._state.visible(each["comments"]))}
            for each in self._state.visible(self._state.threads)
        ]  # fmt: skip
        for each in self._state.visible(self._state.reviews):
            word = {"CHANGES_REQUESTED": "REQUEST_CHANGES"}.get(each.get("state", ""), "COMMENT")
            said.append(self._review(each["id"], each["author"], each["body"], word))
        return said

    def _review(self, number: int, author: str, body: str, word: str) -> dict[str, Any]:
        return {"id": number, "user": _user(author), "body": body, "state": word, "comments_count": 0, "dismissed": False,
                "html_url": f"{WEB}/pulls/7#issuecomment-{number}"}  # fmt: skip

    def post_pulls_x_reviews(self, parts: Any, query: Any, body: dict[str, Any]) -> Any:
        state = self._state
        if body["event"] == "COMMENT" and not body.get("body") and not body.get("comments"):
            raise Refused(422, "review event COMMENT requires a body or a comment")
        for said in body["comments"]:
            line = said.get("new_position")
            spans = state.hunks.get(said["path"], [])
            if "new_position" in said and not any(a <= line <= b for a, b in spans):
                raise Refused(422, "the line is not part of the diff")
            thread = state.add_thread(said["path"], line, said["body"], state.viewer)
        return self._review(thread["review"], state.viewer, "", "COMMENT")

    def get_pulls_x_reviews_x_comments(self, parts: Any, query: Any, body: Any) -> Any:
        for thread in self._state.visible(self._state.threads):
            if str(thread["review"]) == parts[1]:
                said = self._state.visible(thread["comments"])
                return [self._comment(each, thread) for each in said]
        raise Refused(404, "The target couldn't be found.")

    def _comment(self, said: dict[str, Any], thread: dict[str, Any]) -> dict[str, Any]:
        first = said is thread["comments"][0]
        by = thread["resolved"] if first else ""
        return {
            "id": said["id"], "body": said["body"], "path": thread["path"], "html_url": said["url"], "position": thread["line"] or 0,
            "original_position": 0 if thread["line"] else 3, "pull_request_review_id": thread["review"],
            "user": _user(said["author"], bot=said["bot"]), "resolver": _user(by) if by else None,
        }  # fmt: skip

    def post_pulls_x_comments_x_replies(self, parts: Any, query: Any, body: dict[str, Any]) -> Any:
        self._need((1, 27))
        for thread in self._state.threads:
            if parts[1] in {str(each["id"]) for each in thread["comments"]}:
                self._state.reply(thread, body["body"], self._state.viewer)
                return self._comment(thread["comments"][-1], thread)
        raise Refused(404, "The target couldn't be found.")

    def post_pulls_comments_x_resolve(self, parts: Any, query: Any, body: Any) -> None:
        self._set(parts[0], self._state.viewer)

    def post_pulls_comments_x_unresolve(self, parts: Any, query: Any, body: Any) -> None:
        self._set(parts[0], "")

    def _set(self, comment: str, by: str) -> None:
        self._need((1, 26))
        if not self._state.may_resolve:
            raise Refused(403, "user should have permission to resolve comment")
        for thread in self._state.threads:
            if str(thread["comments"][0]["id"]) == comment:
                thread["resolved"] = by
                return
        raise Refused(404, "The target couldn't be found.")

    def _need(self, number: tuple[int, int]) -> None:
        """An operation that the version lacks is not to be asked for."""
        if self._state.number < number:
            self._state.problems.append(f"{self._state.version} has no such operation")
            raise Refused(404, "404 page not found")

    def get_issues_x_comments(self, parts: Any, query: Any, body: Any) -> Any:
        return [
            {"id": each["id"], "body": each["body"], "html_url": each["url"],
             "user": _user(each["author"], bot=each["bot"])}
            for each in self._state.visible(self._state.comments)
        ]  # fmt: skip

    def post_issues_x_comments(self, parts: Any, query: Any, body: dict[str, Any]) -> Any:
        return self._shown(self._state.say_below(parts[0], body["body"]))

    def patch_issues_comments_x(self, parts: Any, query: Any, body: dict[str, Any]) -> Any:
        comment = self._find(parts[0])
        comment["body"] = body["body"]
        return self._shown(comment)

    def delete_issues_comments_x(self, parts: Any, query: Any, body: Any) -> None:
        self._state.delete_comment(self._find(parts[0]))

    def _find(self, name: str) -> dict[str, Any]:
        threads = (each for thread in self._state.threads for each in thread["comments"])
        for each in (*self._state.comments, *threads):
            if str(each["id"]) == name:
                if each["author"] != self._state.viewer:
                    self._state.problems.append(f"{name} is a comment of {each['author']}")
                    raise Refused(403, "")
                return each
        raise Refused(404, "The target couldn't be found.")

    def _shown(self, comment: dict[str, Any]) -> dict[str, Any]:
        return {"id": comment["id"], "body": comment["body"], "html_url": comment["url"], "user": _user(self._state.viewer)}  # fmt: skip

    def get_commits_x_statuses(self, parts: Any, query: Any, body: Any) -> Any:
        return [
            self._status(each) for each in reversed(self._state.statuses) if each["sha"] == parts[0]
        ]

    def post_statuses_x(self, parts: Any, query: Any, body: dict[str, Any]) -> Any:
        if not self._state.may_check:
            raise Refused(403, "token does not have at least one of required scope(s)")
        self._state.statuses.append({**body, "sha": parts[0], "id": self._state.next_id()})
        return self._status(self._state.statuses[-1])

    def _status(self, status: dict[str, Any]) -> dict[str, Any]:
        shown = {key: status[key] for key in ("id", "context", "description")}
        return {**shown, "status": status["state"]}

    def get_(self, parts: Any, query: Any, body: Any) -> Any:
        return {"full_name": "acme/shop", "has_issues": True, "archived": False}

    def get_issues(self, parts: Any, query: dict[str, str], body: Any) -> Any:
        found = [each for each in reversed(self._state.issues) if query["type"] == "issues"]
        for name in filter(None, query.get("labels", "").split(",")):
            found = [each for each in found if name in {label["name"] for label in each["labels"]}]
        words = query.get("q", "")
        return [each for each in found if words in each["body"] + each["title"]]

    def get_issues_x(self, parts: Any, query: Any, body: Any) -> Any:
        found = [each for each in self._state.issues if str(each["number"]) == parts[0]]
        if not found:
            raise Refused(404, "The target couldn't be found.")
        return found[0]

    def post_issues(self, parts: Any, query: Any, body: dict[str, Any]) -> Any:
        number = len(self._state.issues) + 1
        labels = [each for each in self._state.labels if each["id"] in body.get("labels", ())]
        made = {"number": number, "html_url": f"{WEB}/issues/{number}", "state": "open", "body": body["body"],
                "title": body["title"], "user": _user(self._state.viewer), "labels": labels, "pull_request": None}  # fmt: skip
        self._state.issues.append(made)
        return made

    def patch_issues_x(self, parts: Any, query: Any, body: dict[str, Any]) -> Any:
        found = self.get_issues_x(parts, query, None)
        found.update(body)
        return found

    def get_labels(self, parts: Any, query: Any, body: Any) -> Any:
        return self._state.labels

    def post_labels(self, parts: Any, query: Any, body: dict[str, Any]) -> Any:
        self._state.labels.append({**body, "id": self._state.next_id()})
        return self._state.labels[-1]

    def get_collaborators_x_permission(self, parts: Any, query: Any, body: Any) -> Any:
        if not self._state.may_ask and parts[0] != self._state.viewer:
            raise Refused(403, "Only admins can query all permissions")
        if parts[0] not in self._state.permissions:
            return {"permission": "none", "user": _user(parts[0])}
        return {"permission": self._state.permissions[parts[0]], "user": _user(parts[0])}


def _user(login: str, *, bot: bool = False) -> dict[str, Any]:
    return {"login": login, "id": -2 if bot else 5}


class GiteaServer(ForgeServer):
    name: ClassVar[str] = "Gitea"
    rest: ClassVar[dict[str, Any]] = json.loads((HERE / "gitea_rest.json").read_text())
    below: ClassVar[str] = "/api/v1"
    page: ClassVar[str] = f"{WEB}/pulls/7"

    def fresh(self, **values: Any) -> GiteaState:
        self.state = GiteaState(page=self.page, **values)
        return self.state

    def is_signed(self, headers: Any) -> bool:
        return headers.get("Authorization") == f"token {TOKEN}"

    def perform(self, key: str, parts: tuple[str, ...], query: dict[str, str], body: Any) -> Any:
        method, path = key.split(" ")
        inside = path.startswith("/repos/{owner}/{repo}")
        name = re.sub(r"\{\w+\}", "x", path.removeprefix("/repos/{owner}/{repo}").strip("/"))
        action = f"{method.lower()}_{re.sub(r'[^a-zA-Z]+', '_', name)}"
        return getattr(Actions(self.state), action)(parts[2:] if inside else parts, query, body)

    def paginate(
        self, key: str, parts: tuple[str, ...], query: dict[str, str], answer: list[Any]
    ) -> tuple[dict[str, str], list[Any]]:
        """Gitea gives 30 entries unless more are asked for, and never more than 50."""
        if "page" not in self.rest[key]["query"]:
            return {}, answer
        limit, page = min(int(query.get("limit", 30)), PAGE), int(query.get("page", 1))
        start = (page - 1) * limit
        left = iter(parts)
        path = re.sub(r"\{\w+\}", lambda _: next(left), key.split(" ")[1])
        more = f'<{self.api}{path}?limit={limit}&page={page + 1}>; rel="next"'
        headers = {"Link": more} if start + limit < len(answer) else {}
        return headers, answer[start : start + limit]
