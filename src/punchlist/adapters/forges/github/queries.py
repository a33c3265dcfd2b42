"""GraphQL: the threads, comments and reviews of a pull request, and resolving threads."""

from typing import Any, Generic, TypeVar

from msgspec import Struct, field

T = TypeVar("T")

_PULL = """
query($owner: String!, $name: String!, $number: Int!, $after: String) {
  repository(owner: $owner, name: $name) {
    pullRequest(number: $number) { found: %s }
  }
}
"""
_PAGE = "pageInfo { hasNextPage endCursor }"
_COMMENT = "fullDatabaseId body url viewerDidAuthor author { __typename login }"
_COMMENTS = f"comments(first: 100%s) {{ {_PAGE} nodes {{ {_COMMENT} }} }}"
THREADS = _PULL % (
    f"reviewThreads(first: 50, after: $after) {{ {_PAGE} nodes {{"
    " id path line startLine isResolved resolvedBy { login } "
    f"{_COMMENTS % ''} }} }}"
)
COMMENTS = _PULL % (f"comments(first: 100, after: $after) {{ {_PAGE} nodes {{ {_COMMENT} }} }}")
REVIEWS = _PULL % (f"reviews(first: 100, after: $after) {{ {_PAGE} nodes {{ {_COMMENT} state }} }}")
MORE_COMMENTS = (
    "query($thread: ID!, $after: String) { node(id: $thread) {"
    f" ... on PullRequestReviewThread {{ {_COMMENTS % ', after: $after'} }} }} }}"
)
VIEWER = "query { viewer { login } }"
RESOLVE = (
    "mutation($thread: ID!) { resolveReviewThread(input: {threadId: $thread})"
    " { thread { id isResolved } } }"
)
UNRESOLVE = (
    "mutation($thread: ID!) { unresolveReviewThread(input: {threadId: $thread})"
    " { thread { id isResolved } } }"
)


class Actor(Struct, frozen=True):
    login: str
    kind: str = field(default="User", name="__typename")


class Viewer(Struct, frozen=True):
    login: str


class PageInfo(Struct, frozen=True, rename="camel"):
    has_next_page: bool
    end_cursor: str | None = None


class Nodes(Struct, Generic[T], frozen=True, rename="camel"):
    """One page of a list."""

    page_info: PageInfo
    nodes: list[T]


class CommentNode(Struct, frozen=True, rename="camel"):
    body: str
    url: str
    viewer_did_author: bool
    full_database_id: str | int | None = None
    author: Actor | None = None
    state: str = ""


class ThreadNode(Struct, frozen=True, rename="camel", kw_only=True):
    id: str
    path: str
    is_resolved: bool
    comments: Nodes[CommentNode]
    line: int | None = None
    start_line: int | None = None
    resolved_by: Viewer | None = None


class FoundNodes(Struct, Generic[T], frozen=True):
    found: Nodes[T]


class PullNode(Struct, Generic[T], frozen=True, rename="camel"):
    pull_request: FoundNodes[T] | None = None


class ViewerData(Struct, frozen=True):
    viewer: Viewer


class PullData(Struct, Generic[T], frozen=True):
    repository: PullNode[T] | None = None


class ThreadComments(Struct, frozen=True):
    comments: Nodes[CommentNode]


class NodeData(Struct, frozen=True):
    node: ThreadComments | None = None


class GraphqlError(Struct, frozen=True):
    message: str = ""
    type: str = ""


class GraphqlReply(Struct, Generic[T], frozen=True):
    data: T | None = None
    errors: list[GraphqlError] = []


Variables = dict[str, Any]
