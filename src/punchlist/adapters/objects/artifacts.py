"""Evidence and reports of one run, as objects that every machine finds."""

from hashlib import sha256

from obstore.exceptions import NotModifiedError

from punchlist.adapters.objects.bucket import Bucket
from punchlist.adapters.objects.cache import ObjectCache
from punchlist.adapters.store.artifacts import PinnedFiles, check_name
from punchlist.ports.artifacts import Tell


class ObjectArtifacts(PinnedFiles):
    """The store is the truth; a local copy is used if the store says that it is the same, or if it
    is what the ledger has the hash of.
    """

    def __init__(self, bucket: Bucket, cache: ObjectCache, run: str, tell: Tell) -> None:
        super().__init__()
        self._bucket = bucket
        self._cache = cache
        self._prefix = f"{run}/"
        self._tell = tell

    def write(self, name: str, content: bytes) -> str:
        etag = self._bucket.put(self._make_key(name), content, self._tell)
        self._cache.put(self.locate(name), content, etag)
        return self.locate(name)

    def create(self, name: str, content: bytes) -> bytes | None:
        etag = self._bucket.create(self._make_key(name), content, self._tell)
        if etag is None:
            return self._require(name)
        self._cache.put(self.locate(name), content, etag)
        return None

    def locate(self, name: str) -> str:
        return f"{self._bucket.where}/{self._make_key(name)}"

    def list_sizes(self) -> dict[str, int]:
        found = self._bucket.list_sizes(self._prefix, self._tell)
        names = {_decode(key.removeprefix(self._prefix)): size for key, size in found.items()}
        return dict(sorted(names.items()))

    def remove(self) -> bool:
        keys = list(self._bucket.list_sizes(self._prefix, self._tell))
        if keys:
            self._bucket.remove(keys, self._tell)
        for key in keys:
            self._cache.drop(f"{self._bucket.where}/{key}")
        return bool(keys)

    def _load(self, name: str, pin: str) -> bytes | None:
        key, address = self._make_key(name), self.locate(name)
        kept = self._cache.get(address)
        if kept and pin and sha256(kept.content).hexdigest() == pin:
            return kept.content
        try:
            found = self._bucket.get(key, self._tell, kept.etag if kept else "")
        except NotModifiedError:
            return kept.content if kept else None
        if found is None:
            self._cache.drop(address)
            return None
        self._cache.put(address, found.content, found.etag)
        return found.content

    def _make_key(self, name: str) -> str:
        """Return the object's key. A folder store keeps names that end in # and a number for
        itself.
        """
        return self._prefix + check_name(name).replace("%", "%25").replace("#", "%23")


class ObjectStore:
    """The files of all runs, below their ids."""

    def __init__(self, bucket: Bucket, cache: ObjectCache) -> None:
        self._bucket = bucket
        self._cache = cache

    def open(self, run: str, tell: Tell) -> ObjectArtifacts:
        return ObjectArtifacts(self._bucket, self._cache, run, tell)

    def list_runs(self) -> frozenset[str]:
        return self._bucket.list_folders()


def _decode(key: str) -> str:
    return key.replace("%23", "#").replace("%25", "%")
