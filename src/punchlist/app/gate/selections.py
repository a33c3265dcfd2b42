"""Which findings count in each folder, as the settings of the repository and the user say."""

from collections.abc import Mapping

from punchlist.errors import SettingsError
from punchlist.model.finding.path_patterns import place_pattern
from punchlist.model.finding.selection import FolderSelection
from punchlist.settings import REPOSITORY_FILE, Layer, Tables, load_settings, parse_settings

_SECTION = "review"


def load_selections(
    files: Mapping[str, bytes], flags: Mapping[str, str], notes: list[str]
) -> dict[str, FolderSelection]:
    """Return which findings count, by folder. Only the section `review` of a file is used; a file
    that cannot be parsed gets a note.
    """
    layers: dict[str, Layer] = {}
    for path in sorted(files):
        folder = path.removesuffix(REPOSITORY_FILE).rstrip("/")
        try:
            table = parse_settings(files[path].decode(), path).get(_SECTION, {})
            layers[folder] = Layer(path, {_SECTION: _place_patterns(table, folder)})
            load_settings(None, {}, {}, [layers[folder]])
        except (SettingsError, UnicodeDecodeError) as error:
            layers.pop(folder, None)
            notes.append(f"{path} does not say which findings count: {error}")
    return {folder: _merge_folder(folder, layers, flags) for folder in {"": None, **layers}}


def _place_patterns(table: Tables, folder: str) -> Tables:
    named = table.get("exclude") if isinstance(table, dict) else None
    if not isinstance(named, list):
        return table
    return {**table, "exclude": [place_pattern(str(each), folder) for each in named]}


def _merge_folder(
    folder: str, layers: Mapping[str, Layer], flags: Mapping[str, str]
) -> FolderSelection:
    """Return the selection of a folder: the nearest file that sets a key wins, below the user's
    environment and options.
    """
    above = [each for each in layers if not each or f"{folder}/".startswith(f"{each}/")]
    ordered = [layers[each] for each in sorted(above, key=len)]
    loaded = load_settings(None, flags, folders=ordered)
    origins = {
        name.removeprefix(f"{_SECTION}."): _name_origin(name.removeprefix(f"{_SECTION}."), origin)
        for name, origin in loaded.origins.items()
        if name.startswith(f"{_SECTION}.")
    }
    return FolderSelection(loaded.settings.review, origins)


def _name_origin(key: str, origin: str) -> str:
    return f"--{key}" if origin.startswith("--set ") else f"{key} in {origin}"
