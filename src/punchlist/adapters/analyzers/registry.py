"""The table of analyzers: how settings make each, and which are installed."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from punchlist.adapters.analyzers.configuration.survey import CommitFiles, survey_configuration
from punchlist.adapters.analyzers.settings import AnalyzerSettings
from punchlist.adapters.analyzers.tool import AnalyzerTool, CommandAnalyzer, Kit, run_probe
from punchlist.adapters.analyzers.tools.ast_grep import AstGrep
from punchlist.adapters.analyzers.tools.bandit import Bandit
from punchlist.adapters.analyzers.tools.biome import Biome
from punchlist.adapters.analyzers.tools.custom import Custom
from punchlist.adapters.analyzers.tools.eslint import Eslint
from punchlist.adapters.analyzers.tools.mypy import Mypy
from punchlist.adapters.analyzers.tools.pyright import Basedpyright, Pyright
from punchlist.adapters.analyzers.tools.ruff import Ruff, RuffRules
from punchlist.adapters.analyzers.tools.ruff_rules import find_misspelt, find_rules
from punchlist.adapters.analyzers.tools.semgrep import Semgrep
from punchlist.adapters.analyzers.tools.shellcheck import Shellcheck
from punchlist.adapters.analyzers.tools.ty import Ty
from punchlist.adapters.folders.look import path_exists
from punchlist.errors import SettingsError
from punchlist.model.checks.own_files import GENERATED
from punchlist.model.checks.tool_configuration import ToolConfiguration
from punchlist.model.finding.languages import find_named_language
from punchlist.model.finding.late_pattern import late_pattern
from punchlist.model.integrity.suppressions import Suppressions
from punchlist.ports.analyzer import Analysis, Analyzer
from punchlist.ports.tree import Tree

_VERSION = late_pattern(r"\d+(?:\.\d+)+\S*")

Make = Callable[[AnalyzerSettings, Kit], AnalyzerTool]


def _make_asked(tool: type[AnalyzerTool]) -> Make:
    """Return what makes a tool that does more where it is configured or enabled by name."""

    def make(settings: AnalyzerSettings, _: Kit) -> AnalyzerTool:
        asked = settings.enabled != "auto" and tool.name in settings.enabled
        return tool(settings.args.get(tool.name, ()), asked=asked)

    return make


ANALYZERS: dict[str, Make] = {
    "ruff": lambda settings, _: Ruff(
        RuffRules(settings.rules, settings.select, settings.extend_select),
        settings.args.get("ruff", ()),
    ),
    "bandit": _make_asked(Bandit),
    "ast-grep": lambda settings, kit: _with_rules(
        AstGrep(
            settings.ast_grep_rules,
            settings.args.get("ast-grep", ()),
            files=_read_rules(settings, kit),
        ),
        settings.ast_grep,
        kit,
    ),
    "mypy": _make_asked(Mypy),
    "pyright": _make_asked(Pyright),
    "basedpyright": _make_asked(Basedpyright),
    "ty": _make_asked(Ty),
    "eslint": _make_asked(Eslint),
    "biome": _make_asked(Biome),
    "shellcheck": lambda settings, _: Shellcheck(settings.args.get("shellcheck", ())),
    "semgrep": lambda settings, kit: _with_rules(
        Semgrep(_paths(settings.semgrep, kit), settings.args.get("semgrep", ())),
        settings.semgrep,
        kit,
    ),
}


def steering_files() -> tuple[str, ...]:
    """Return the patterns of the configuration files of all built-in analyzers."""
    tools = (make(AnalyzerSettings(), Kit()) for make in ANALYZERS.values())
    return tuple(dict.fromkeys(pattern for tool in tools for pattern in tool.steered_by))


def suppressions_of(settings: AnalyzerSettings) -> Suppressions:
    """Return what counts the comments that silence any analyzer, enabled or not, or all of them."""
    tools = [make(settings, Kit()) for make in ANALYZERS.values()]
    tools += [Custom(tool) for tool in settings.custom]
    declared = dict.fromkeys(each for tool in tools for each in tool.suppressed_by)
    # What marks a file as generated hides it from all analyzers.
    return Suppressions((*declared, GENERATED))


def undeclared_analyzers(settings: AnalyzerSettings) -> frozenset[str]:
    """Return the analyzers of which nothing says how they are silenced."""
    tools = [make(settings, Kit()) for make in ANALYZERS.values()]
    tools += [Custom(tool) for tool in settings.custom]
    return frozenset(
        tool.name for tool in tools if not tool.unsuppressed and not tool.suppressed_by
    )


class DetectedTool(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A tool's command and version; both empty if it is not installed."""

    name: str
    command: tuple[str, ...] = ()
    version: str = ""

    @property
    def there(self) -> bool:
        return bool(self.version)


class UnknownAnalyzer(Struct, frozen=True):
    """Stands for an analyzer that this version of punchlist does not know; it always fails."""

    name: str
    confined: bool = True

    async def analyze(self, tree: Tree, paths: Sequence[str] | None) -> Analysis:
        why = "is not known to this version of punchlist, or its settings are gone"
        return Analysis(failed=f"{self.name} {why}")


def build_analyzers(
    settings: AnalyzerSettings, kit: Kit | None = None, names: Iterable[str] | None = None
) -> dict[str, Analyzer]:
    """Return the enabled analyzers by name, or exactly `names`: a resumed run keeps those it began
    with. One that is not installed fails when it runs.
    """
    kit = replace(kit or Kit(), timeout=settings.timeout)
    own = {tool.name: Custom(tool) for tool in settings.custom}
    for name in own.keys() & ANALYZERS.keys():
        problem = f"analyzers.custom: {name!r} is the name of a built-in analyzer"
        raise SettingsError(problem, hint="choose another name")
    if names is None:
        names = _found(settings, kit, own) if settings.enabled == "auto" else settings.enabled
        unknown = frozenset[str]()
    else:
        names = tuple(names)
        unknown = frozenset(names) - own.keys() - ANALYZERS.keys()

    def build(name: str) -> Analyzer:
        if name in unknown:
            return UnknownAnalyzer(name)
        return CommandAnalyzer(own.get(name) or _make_builtin(name, settings, kit), kit)

    return {name: build(name) for name in names}


async def survey_analyzers(
    settings: AnalyzerSettings, names: Iterable[str], files: CommitFiles, kit: Kit
) -> tuple[ToolConfiguration, ...]:
    """Return what the configuration of the named analyzers makes them read and run, in a commit;
    those without any such are left out.
    """
    own = {tool.name: Custom(tool) for tool in settings.custom}
    tools = [own.get(name) or _make_builtin(name, settings, kit) for name in names]
    found = [await survey_configuration(tool, files) for tool in tools]
    return tuple(each for each in found if each.named or each.code or each.refused)


def list_files_seen(
    analyzers: Mapping[str, Analyzer], name: str, tree: Tree, paths: Sequence[str]
) -> Sequence[str] | None:
    """Return those of the files that the named analyzer looks at; None if that is not known."""
    analyzer = analyzers.get(name)
    return analyzer.list_seen(tree, paths) if isinstance(analyzer, CommandAnalyzer) else ()


def list_languages(settings: AnalyzerSettings) -> frozenset[str] | None:
    """Return the languages that count, None for those of the project. Raise SettingsError if one is
    not known.
    """
    if settings.languages == "auto":
        return None
    named = {word: find_named_language(word) for word in settings.languages}
    for word in (word for word, name in named.items() if not name):
        problem = f"analyzers.languages: no language is called {word!r}"
        raise SettingsError(problem, hint='for example languages = ["Python", "JavaScript"]')
    return frozenset(named.values())


def identify_analyzer(analyzers: Mapping[str, Analyzer], name: str) -> str:
    """Return what decides, with a commit, what the named analyzer reports; '' if not known."""
    analyzer = analyzers.get(name)
    return analyzer.identify() if isinstance(analyzer, CommandAnalyzer) else ""


def build_unsuppressed(
    settings: AnalyzerSettings, kit: Kit | None = None, names: Iterable[str] = ()
) -> dict[str, Analyzer]:
    """Return those of the analyzers that can switch suppressions off, with these switched off."""
    kit = replace(kit or Kit(), timeout=settings.timeout)
    own = {tool.name: Custom(tool) for tool in settings.custom}
    known = [name for name in names if name in own or name in ANALYZERS]
    tools = [own.get(name) or _make_builtin(name, settings, kit) for name in known]
    return {
        tool.name: CommandAnalyzer(tool.without_suppressions(), kit)
        for tool in tools
        if tool.unsuppressed
    }


async def add_selected(
    settings: AnalyzerSettings, patterns: Sequence[str], kit: Kit | None = None
) -> tuple[AnalyzerSettings, list[str]]:
    """Return the settings with what `review.select` asks of ruff beyond its own selection, and the
    patterns that seem to be misspelt.
    """
    program = _make_builtin("ruff", settings, kit or Kit()).find_program(kit or Kit())
    if not patterns or not program:
        return settings, []
    named = await find_rules(program, patterns, kit or Kit())
    also = tuple(dict.fromkeys((*settings.extend_select, *named)))
    return replace(settings, extend_select=also), find_misspelt(patterns, named)


async def detect_analyzers(
    names: Iterable[str] = (), kit: Kit | None = None
) -> tuple[DetectedTool, ...]:
    """Return which of the named analyzers (default: all) are installed, with their versions."""
    kit = kit or Kit()
    settings = AnalyzerSettings()
    tools = [_make_builtin(name, settings, kit) for name in tuple(names) or ANALYZERS]
    return tuple([await _probe_tool(tool, kit) for tool in tools])


def _found(settings: AnalyzerSettings, kit: Kit, own: Iterable[str]) -> list[str]:
    """Return what runs by itself: what is installed, and ast-grep wherever it has rules, so that
    rules which are not applied are said.
    """
    rules = bool(settings.ast_grep or settings.ast_grep_rules)
    ruled = {"ast-grep": rules, "semgrep": bool(settings.semgrep)}
    usable = [name for name in ANALYZERS if ruled.get(name, True)]
    tools = ((name, ANALYZERS[name](settings, kit)) for name in usable)
    there = (name for name, tool in tools if name == "ast-grep" or tool.find_program(kit))
    return [*there, *own]


def _make_builtin(name: str, settings: AnalyzerSettings, kit: Kit) -> AnalyzerTool:
    if name in ANALYZERS:
        return ANALYZERS[name](settings, kit)
    from difflib import get_close_matches

    known = [*ANALYZERS, *(tool.name for tool in settings.custom)]
    near = get_close_matches(name, known, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}"
    raise SettingsError(f"analyzers.enabled: no analyzer is called {name!r}", hint=hint)


async def _probe_tool(tool: AnalyzerTool, kit: Kit) -> DetectedTool:
    program = tool.find_program(kit)
    if not program or kit.is_tracked(program[0]):
        return DetectedTool(name=tool.name)
    ran = await run_probe([*program, "--version"], kit, tool.env)
    output = (ran.stdout + ran.stderr).decode("utf-8", "replace") if ran.ok else ""
    version = _VERSION.search(output)
    return DetectedTool(name=tool.name, command=program, version=version[0] if version else "")


def _paths(names: Iterable[str], kit: Kit) -> list[str]:
    """Return rule files, relative to the checkout; the tool refuses what is no path."""
    base = kit.checkout
    return [str(base / name) if base and path_exists(base / name) else name for name in names]


def _with_rules(tool: AnalyzerTool, names: Iterable[str], kit: Kit) -> AnalyzerTool:
    tool.rule_files = tuple(filter(None, map(kit.inside_checkout, names)))
    return tool


def _read_rules(settings: AnalyzerSettings, kit: Kit) -> dict[str, str]:
    """Return the texts of ast-grep's rule files, by their paths in the repository or elsewhere."""
    texts = {}
    for name, path in zip(settings.ast_grep, _paths(settings.ast_grep, kit), strict=True):
        try:
            texts[kit.inside_checkout(name) or path] = Path(path).read_text()
        except (OSError, UnicodeDecodeError) as error:
            raise SettingsError(
                f"analyzers.ast_grep: {name}: {error}", hint="name a file of ast-grep rules"
            ) from error
    return texts
