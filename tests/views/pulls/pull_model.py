"""A pull request in memory: what updates do to a conversation, and items to make boards of."""

from msgspec.structs import replace

from made import STARTED, made_run
from punchlist.model.finding.finding import Finding, Spot
from punchlist.model.finding.severity import Severity
from punchlist.model.item.item import Attempt, Fact, Item, Status
from punchlist.model.item.proof import Proof, ProofClass
from punchlist.model.patch.change import LineRange
from punchlist.views.pulls.board import Picture
from punchlist.views.pulls.conversation import Comment, Conversation, PullRequest, Thread
from punchlist.views.pulls.diff_table import DiffTable
from punchlist.views.pulls.difference import (
    DeleteComment,
    EditComment,
    PostReply,
    PostSummary,
    PostThread,
    SetResolved,
)

HEAD = "c0ffee" * 6 + "c0ff"
PULL = PullRequest(
    number=7,
    repository="acme/shop",
    url="https://github.example/acme/shop/pull/7",
    base="b" * 40,
    head=HEAD,
    base_name="main",
    head_name="topic",
    ref="refs/pull/7/head",
)
TABLE = DiffTable({"a.py": (LineRange(1, 20), LineRange(40, 50)), "b.py": (LineRange(1, 5),)})


def make_item(number, status=Status.FILED, *, label="", path="a.py", line=3, **more):
    values = {
        "title": f"Defect {number}",
        "source": "ruff",
        "severity": Severity.MAJOR,
        "rule": "F401",
    }
    finding = {key: more.pop(key) for key in (*values, "detail", "suggestion") if key in more}
    said = {
        Status.DISMISSED: Attempt(1, Fact.DISMISSED, "ann", "as designed"),
        Status.FILED: Attempt(1, Fact.SAID_DEFERRED, "fixer", "no test shows it"),
    }
    proofs = (Proof(ProofClass.RECHECKED, "ruff is silent"),) if status is Status.FIXED else ()
    values |= finding
    if label:
        values["source"] = "file:rabbit"
    return Item(
        number=number,
        fingerprint=f"{number:032x}",
        findings=(Finding(id=f"f{number}", spot=Spot(path, line), label=label, **values),),
        status=status,
        attempts=tuple(filter(None, [said.get(status)])),
        **{"proofs": proofs, "commit": "d" * 40, "made_in": f"{number:040x}", **more},
    )


def make_picture(*items, conversation=None, **more):
    run = made_run("260101-abcdef", items={item.number: item for item in items}, ended="leftovers",
                   started=replace(STARTED, reviewers=("ruff",)))  # fmt: skip
    said = conversation or Conversation(viewer="punchy")
    values = {"pull": PULL, "run": run, "table": TABLE, "conversation": said}
    return Picture(**{**values, **more})


def make_thread(id_, author="rabbit", body="Fix this", *, bot=True, line=3, **more):
    first = Comment(id=f"9{id_}", author=author, body=body, bot=bot, url=f"https://x.example/{id_}")
    return Thread(id=str(id_), path="a.py", line=line, comments=(first,), **more)


class PullModel:
    """Does updates as a forge does them; `lost` answers are for its users to leave out."""

    def __init__(self, conversation=None):
        self.now = conversation or Conversation(viewer="punchy")
        self._count = 100

    def do_all(self, updates):
        for update in updates:
            self.do(update)

    def do(self, update):
        match update:
            case PostSummary(body=body):
                self._change(comments=(*self.now.comments, self._comment(body)))
            case PostThread(thread=thread):
                comment = self._comment(thread.body)
                new = Thread(
                    id=f"t{comment.id}", path=thread.path, line=thread.line, comments=(comment,)
                )
                self._change(threads=(*self.now.threads, new))
            case PostReply(thread=id_, body=body):
                self._each(
                    id_, lambda each: replace(each, comments=(*each.comments, self._comment(body)))
                )
            case EditComment(id=id_, body=body):
                self._comments(lambda each: replace(each, body=body) if each.id == id_ else each)
            case DeleteComment(id=id_):
                self._comments(lambda each: None if each.id == id_ else each)
            case SetResolved(thread=id_, resolved=resolved):
                by = "punchy" if resolved else ""
                self._each(id_, lambda each: replace(each, resolved=resolved, resolved_by=by))

    def resolve(self, id_, by):
        self._each(id_, lambda each: replace(each, resolved=True, resolved_by=by))

    def open_again(self, id_):
        self._each(id_, lambda each: replace(each, resolved=False, resolved_by=""))

    def act(self, what, at):
        """Let a person do something to one of the threads."""
        if self.now.threads:
            thread = self.now.threads[at % len(self.now.threads)]
            if what == "resolve":
                self.resolve(thread.id, "guest")
            elif what == "reopen":
                self.open_again(thread.id)
            else:
                self.do(DeleteComment(id=thread.comments[-1].id))

    def _comment(self, body):
        self._count += 1
        return Comment(id=str(self._count), author="punchy", body=body, own=True)

    def _change(self, **parts):
        self.now = replace(self.now, **parts)

    def _each(self, id_, change):
        self._change(threads=tuple(change(t) if t.id == id_ else t for t in self.now.threads))

    def _comments(self, change):
        def kept(comments):
            return tuple(new for each in comments if (new := change(each)) is not None)

        threads = (replace(each, comments=kept(each.comments)) for each in self.now.threads)
        self._change(
            comments=kept(self.now.comments), threads=tuple(t for t in threads if t.comments)
        )
