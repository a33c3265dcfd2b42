"""A fix that broke tests is not tried again on the same code; when the code changes it is."""

from shop import Watch

from punchlist.app.after.clean import clean_state
from punchlist.model.item.item import Fact
from punchlist.model.ledger.events import Tried

AGAIN = "so it was not tried again"


def reasons(run):
    """Why the removal of `dumps` was rejected."""
    (item,) = [
        item
        for item in run.items.values()
        if item.lead.spot.path == "shop/compat.py" and "dumps" in item.lead.title
    ]
    return [attempt.why for attempt in item.attempts if attempt.fact is Fact.REJECTED]


def tries(watch):
    return sum(isinstance(entry.event, Tried) for entry in watch.entries)


def test_a_refutation_is_remembered_shown_and_forgotten_when_the_code_changes(place):
    first, second = Watch(), Watch()
    broke = "breaks tests.test_shop.Shop.test_the_old_name_still_works"
    run = place.run(first)
    assert reasons(run) == [broke]
    again = place.run(second)
    assert reasons(again) == [
        f"{broke} (seen in run {run.id} on the same code with the same checks, {AGAIN})"
    ]
    assert tries(second) < tries(first)
    assert again.landing.landed, "the others land as before"

    stock = place.repo.root / "shop" / "stock.py"
    stock.write_text(stock.read_text() + "\n\nLEVEL = 3\n")
    place.repo.commit(message="another level")
    assert reasons(place.run()) == [broke]

    async def forget(session):
        return await clean_state(session, refuted=True)

    assert "forgot 2 refuted fixes" in place.do(forget)
