"""Read all that is said on a pull request, and who of those that give orders may write."""

from punchlist.adapters.forges.github import queries as gql
from punchlist.adapters.forges.github.api import Alert, CheckNote, PullsApi
from punchlist.adapters.rest.client import RequestRefused
from punchlist.views.pulls.board import OWN_CHECKS
from punchlist.views.pulls.conversation import Comment, Conversation, PullRequest, Report, Thread
from punchlist.views.pulls.marks import read_mark
from punchlist.views.pulls.orders import find_orders

_GHOST = "ghost"
_BOT = "Bot"
_FORBIDDEN = 403
_LACKING = (_FORBIDDEN, 404)


class ConversationReader:
    def __init__(self, api: PullsApi) -> None:
        self._api = api

    async def read_all(self, pull: PullRequest) -> Conversation:
        """Return the conversation with reports of checks and the writers among its speakers."""
        said = await self.read_comments(pull)
        reports, unread = await self._read_reports(pull)
        return Conversation(
            viewer=said.viewer,
            threads=said.threads,
            comments=said.comments,
            reviews=said.reviews,
            reports=reports,
            writers=await self._find_writers(said),
            unread=unread,
        )

    async def read_comments(self, pull: PullRequest) -> Conversation:
        """Return threads, comments and reviews only."""
        nodes, number = self._api.read_nodes, pull.number
        viewer = plain_login(await self._api.read_viewer())
        threads = [
            await self._make_thread(node, viewer)
            async for node in nodes(gql.THREADS, number, gql.ThreadNode)
        ]
        comments = [
            _make_comment(said, viewer)
            async for said in nodes(gql.COMMENTS, number, gql.CommentNode)
        ]
        reviews = [
            _make_comment(said, viewer)
            async for said in nodes(gql.REVIEWS, number, gql.CommentNode)
        ]
        return Conversation(
            viewer=viewer,
            threads=tuple(thread for thread in threads if thread.comments),
            comments=tuple(comments),
            reviews=tuple(review for review in reviews if review.body.strip()),
        )

    async def _make_thread(self, node: gql.ThreadNode, viewer: str) -> Thread:
        comments = list(node.comments.nodes)
        if node.comments.page_info.has_next_page:
            comments += await self._api.read_more_comments(
                node.id, node.comments.page_info.end_cursor
            )
        return Thread(
            id=node.id,
            path=node.path,
            line=node.line,
            first=node.start_line,
            resolved=node.is_resolved,
            resolved_by=plain_login(node.resolved_by.login) if node.resolved_by else "",
            comments=tuple(_make_comment(each, viewer) for each in comments),
        )

    async def _read_reports(self, pull: PullRequest) -> tuple[tuple[Report, ...], tuple[str, ...]]:
        """Return annotations and alerts, and what the token may not read."""
        found: list[Report] = []
        unread: list[str] = []
        try:
            for run in await self._api.list_check_runs(pull.head):
                if run.name not in OWN_CHECKS and run.output.annotations_count:
                    notes = await self._api.list_notes(run.id)
                    found += (_report_note(run.name, note) for note in notes)
        except RequestRefused as refused:
            if refused.status not in _LACKING:
                raise
            unread.append("the token may not read the annotations of checks")
        try:
            found += map(_report_alert, await self._api.list_alerts(pull.number))
        except RequestRefused as refused:
            if refused.status not in _LACKING:
                raise
            if "not accessible" in str(refused):
                unread.append("the token may not read code scanning alerts")
        return tuple(found), tuple(unread)

    async def _find_writers(self, said: Conversation) -> frozenset[str]:
        names = {order.by for order in find_orders(said) if not order.bot}
        names |= {thread.resolved_by for thread in said.threads if thread.resolved}
        names -= {"", _GHOST}
        return frozenset([name for name in sorted(names) if await self._api.may_write(name)])


def plain_login(login: str) -> str:
    """Return the login without the suffix that only some answers give to the name of an app."""
    return login.removesuffix("[bot]")


def _make_comment(node: gql.CommentNode, viewer: str) -> Comment:
    author = node.author.login if node.author else _GHOST
    bot = node.author is not None and node.author.kind == _BOT
    ours = node.viewer_did_author or (bot and plain_login(author) == viewer)
    return Comment(
        id=str(node.full_database_id or ""),
        author=author,
        bot=bot,
        # A person may use a token of their own: what they write themselves has no mark.
        own=ours and read_mark(node.body) is not None,
        body=node.body,
        url=node.url,
        demands=node.state == "CHANGES_REQUESTED",
    )


def _report_note(check: str, note: CheckNote) -> Report:
    message = note.message or ""
    return Report(
        id=f"{check} {note.path}:{note.start_line} {note.title or message}"[:200],
        source=check,
        title=note.title or message,
        path=note.path,
        line=note.start_line,
        end_line=note.end_line,
        level=note.annotation_level or "",
        detail=message,
        url=note.blob_href,
    )


def _report_alert(alert: Alert) -> Report:
    place = alert.most_recent_instance.location
    message = alert.most_recent_instance.message.text
    return Report(
        id=f"alert {alert.number}",
        source=alert.tool.name,
        title=message or alert.rule.description,
        path=place.path,
        line=place.start_line,
        end_line=place.end_line,
        level=alert.rule.security_severity_level or alert.rule.severity or "",
        detail=alert.rule.description,
        rule=alert.rule.id or "",
        url=alert.html_url,
    )
