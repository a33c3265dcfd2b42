"""A browser without a window: keeps its cookies, and says where its forms come from."""

import html
import re

import httpx


class Browser(httpx.Client):
    def __init__(self, site, role: str = "") -> None:
        super().__init__(base_url=site.address, timeout=60, trust_env=False)
        self._site = site
        self._role = role

    def __enter__(self):
        super().__enter__()
        if self._role:
            assert self.submit("/sign-in", token=self._site.tokens[self._role]).status_code == 303
        return self

    def submit(self, path: str, /, files=None, **fields) -> httpx.Response:
        """As a form of a page of ours is sent."""
        return self.post(path, data=fields, files=files, headers={"origin": self._site.address})


def text_of(page: str) -> str:
    """What a reader sees."""
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page)))
