"""GitLab's issues on loopback: the state and the faults of the other stand-in, held to what GitLab documents."""

import re
from typing import Any, ClassVar
from urllib.parse import unquote, urlencode
from zlib import crc32

from github_standin import Answer, Fault, Github, Routes
from gitlab_pulls import obey
from gitlab_schema import REST
from jsonschema import Draft202012Validator

PROJECT = "acme/tools/shop"
LEVELS = {"NONE": 0, "OWNER": 50, "MEMBER": 30, "COLLABORATOR": 20}


class Gitlab(Github):
    host: ClassVar[str] = "https://gitlab.example"
    below: ClassVar[str] = "/api/v4"
    folder: ClassVar[str] = "-/issues"

    @property
    def routes(self) -> type[Routes]:
        return GitlabRoutes


def make_user(login: str) -> dict[str, Any]:
    return {
        "id": crc32(login.encode()) & 0xFFFFFF,
        "username": login,
        "name": login,
        "state": "active",
        "web_url": "x",
    }


class GitlabRoutes(Routes):
    def is_signed(self) -> bool:
        return self.asked.headers.get("private-token") == self.github.token

    def answer(self) -> Answer:
        answer = super().answer()
        path = self.asked.path.removeprefix("/api/v4")
        for key, spec in REST.items():
            method, pattern = key.split(" ")
            if method == self.asked.method and re.fullmatch(
                re.sub(r"\{\w+\}", "[^/]+", pattern), path
            ):
                assert self.asked.query.keys() <= set(spec["query"]), (key, self.asked.query)
                for schema, value in ((spec["body"], self.content), (spec["answer"], answer.value)):
                    if schema and answer.status < 300:
                        Draft202012Validator(schema).validate(value)
        return answer

    @staticmethod
    def limit(fault: Fault, at: float) -> tuple[int, dict[str, str], str]:
        reset = {"ratelimit-remaining": "0", "ratelimit-reset": str(int(at + fault.seconds))}
        headers = {"limit": reset, "too many": {"retry-after": str(int(fault.seconds))}}
        return 429, headers.get(fault.kind, {}), "Retry later"

    def user(self) -> None:
        raise Answer(200, make_user(self.github.login))

    def project(self, name: str, below: str) -> None:
        if unquote(name) not in (self.github.repository, "42"):
            if unquote(name) == self.github.former and self.asked.method == "GET":
                raise Answer(301, None, {"Location": f"/api/v4/projects/42{below}"})
            raise Answer(404, {"message": "404 Project Not Found"})
        for pattern, route in self.BELOW:
            if found := re.fullmatch(pattern, f"{self.asked.method} {below}"):
                route(self, *found.groups())

    def about(self) -> None:
        github = self.github
        level = "enabled" if github.has_issues else "disabled"
        raise Answer(200, {"id": 42, "path_with_namespace": github.repository, "archived": github.archived,
                           "issues_access_level": level})  # fmt: skip

    def member(self, user: str) -> None:
        authors = {
            issue["user"]["login"]: issue["author_association"]
            for issue in self.github.issues.values()
        }
        for login, association in authors.items():
            person = make_user(login)
            if person["id"] == int(user) and LEVELS[association]:
                raise Answer(200, person | {"access_level": LEVELS[association]})
        raise Answer(404, {"message": "404 Not found"})

    def show(self, issue: dict[str, Any]) -> dict[str, Any]:
        return {"id": 9000 + issue["number"], "iid": issue["number"], "web_url": issue["html_url"], "title": issue["title"],
                "state": "opened" if issue["state"] == "open" else "closed", "description": issue["body"],
                "author": make_user(issue["user"]["login"]),
                "labels": [label["name"] for label in issue["labels"]]}  # fmt: skip

    def listed(self) -> None:
        query, github = self.asked.query, self.github
        wanted, words = (
            set(filter(None, query.get("labels", "").split(","))),
            query.get("search", ""),
        )
        lag = github.search_lag if words else github.list_lag
        shown = [
            issue
            for issue in github.issues.values()
            if issue["born"] <= github.clock() - lag
            and wanted <= {label["name"] for label in issue["labels"]}
            and words in (issue["body"] or "")
        ]
        shown.sort(key=lambda issue: issue["number"], reverse=query.get("sort", "desc") == "desc")
        size, start = min(int(query.get("per_page", 20)), github.page), int(query.get("cursor", 0))
        following = urlencode({**query, "cursor": start + size})
        link = f'<http://{self.asked.headers["host"]}/api/v4/projects/42/issues?{following}>; rel="next"'
        headers = {"Link": link} if len(shown) > start + size else {}
        raise Answer(200, [self.show(issue) for issue in shown[start : start + size]], headers)

    def read(self, number: str) -> None:
        if int(number) not in self.github.issues:
            raise Answer(404, {"message": "404 Not found"})
        raise Answer(200, self.show(self.github.issues[int(number)]))

    def create(self) -> None:
        github, text = self.github, self.content.get("description") or ""
        if not github.may_file:
            raise Answer(403, {"message": "403 Forbidden"})
        if "[REFUSED]" in text:
            raise Answer(400, {"message": {"base": ["is refused"]}})
        labels = self.content.get("labels", [])
        issue = github.add(
            {"title": self.content["title"], "body": self.obey(text), "labels": labels}
        )
        raise Answer(201, self.show(issue))

    def change(self, number: str) -> None:
        issue = self.github.issues.get(int(number))
        if issue is None or issue.get("locked"):
            raise Answer(404 if issue is None else 403, {"message": "403 Forbidden"})
        event = {"close": "closed", "reopen": "open"}.get(self.content.get("state_event", ""))
        if event == issue["state"]:
            raise Answer(400, {"message": {"state": ["cannot be changed"]}})
        issue["state"] = event or issue["state"]
        issue["body"] = self.obey(self.content.get("description", issue["body"]))
        raise Answer(200, self.show(issue))

    def obey(self, text: str) -> str:
        done: list[str] = []
        kept = obey(text, done)
        assert not done, done
        return kept

    def get_label(self, name: str) -> None:
        if unquote(name) not in self.github.labels:
            raise Answer(404, {"message": "404 Label Not Found"})
        raise Answer(200, self.label(unquote(name)))

    def make_label(self) -> None:
        name = self.content["name"]
        if not self.github.may_label or name in self.github.labels:
            raise Answer(
                403 if not self.github.may_label else 409, {"message": "Label already exists"}
            )
        self.github.labels[name] = self.content["color"]
        raise Answer(201, self.label(name))

    def label(self, name: str) -> dict[str, Any]:
        return {"id": 1, "name": name, "color": self.github.labels[name], "description": None}

    BELOW = (
        (r"GET ", about),
        (r"GET /members/all/(\d+)", member),
        (r"GET /issues", listed),
        (r"POST /issues", create),
        (r"GET /issues/(\d+)", read),
        (r"PUT /issues/(\d+)", change),
        (r"GET /labels/([^/]+)", get_label),
        (r"POST /labels", make_label),
    )
    TABLE = ((r"GET /api/v4/user", user), (r"\w+ /api/v4/projects/([^/]+)(/.*|)", project))
