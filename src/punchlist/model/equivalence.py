"""Which rules of different tools name the same defect.

Most of it follows from how the tools name their rules: ruff kept the numbers of bandit (`S101` is `B101`), pylint (`PLR0913` is
`R0913`), pycodestyle, pyflakes and the flake8 plugins; biome writes eslint's names in camel case. The table has the rest.
"""

import re
from functools import lru_cache

_TABLE = """
unused-import           F401 W0611 unused-import unused-imports no-unused-imports
unused-variable         F841 F842 RUF059 B007 W0612 unused-variable no-unused-vars no-unused-variables
unused-argument         ARG001 ARG002 ARG003 ARG004 ARG005 W0613 unused-argument no-unused-function-parameters
undefined-name          F821 E0602 undefined-variable name-defined reportUndefinedVariable unresolved-reference no-undef no-
undefined-name          undeclared-variables unknown-name
undefined-export        F822 E0603 undefined-all-variable reportUnsupportedDunderAll
used-before-assignment  F823 E0601 used-before-assignment used-before-def possibly-undefined reportPossiblyUnbound possibly-
used-before-assignment  unresolved-reference E0606 possibly-used-before-assignment reportUnboundVariable unbound-name
redefined               F811 E0102 W0404 function-redefined reimported no-redef reportRedeclaration no-redeclare
wildcard-import         F403 W0401 wildcard-import
bad-name                N801 N802 N803 N806 N815 N816 C0103 invalid-name
bad-first-argument      N804 N805 E0211 E0213 C0202 C0203 C0204 no-self-argument bad-classmethod-argument bad-mcs-method-
bad-first-argument      argument
shadowed-builtin        A001 A002 A003 A004 W0622 redefined-builtin no-shadow-restricted-names
old-string-format       UP030 UP031 UP032 C0209 consider-using-f-string
left-to-do              FIX001 FIX002 FIX003 FIX004 W0511 fixme no-warning-comments
statements-on-one-line  E701 E702 E704 C0321 multiple-statements
needless-semicolon      E703 W0301 unnecessary-semicolon no-extra-semi
line-too-long           E501 C0301 line-too-long max-len
trailing-whitespace     W291 W293 C0303 trailing-whitespace no-trailing-spaces
final-newline           W292 C0304 missing-final-newline eol-last
trailing-newlines       W391 C0305 trailing-newlines
imports-on-one-line     E401 C0410 multiple-imports
import-position         E402 C0413 wrong-import-position
assigned-lambda         E731 C3001 unnecessary-lambda-assignment
compared-to-singleton   E711 E712 C0121 singleton-comparison
compared-types          E721 C0123 unidiomatic-typecheck
compared-literal        F632 R0123 literal-comparison
bare-except             E722 W0702 bare-except
broad-except            BLE001 W0718 W0703 broad-exception-caught broad-except
broad-raise             TRY002 W0719 broad-exception-raised
useless-except          TRY203 TRY302 W0706 try-except-raise no-useless-catch
raise-without-from      B904 TRY200 W0707 raise-missing-from
duplicate-except        B014 B025 W0705 duplicate-except
module-docstring        D100 D104 C0114 C0111 missing-module-docstring
class-docstring         D101 D106 C0115 missing-class-docstring
function-docstring      D102 D103 C0116 missing-function-docstring
empty-docstring         D419 C0112 empty-docstring
needless-pass           PIE790 W0107 W2301 unnecessary-pass unnecessary-ellipsis
private-access          SLF001 W0212 protected-access reportPrivateUsage
inconsistent-return     RET503 R1710 inconsistent-return-statements consistent-return
else-after-return       RET505 R1705 no-else-return no-useless-else
else-after-raise        RET506 R1720 no-else-raise
else-after-continue     RET507 R1724 no-else-continue
else-after-break        RET508 R1723 no-else-break
super-with-arguments    UP008 R1725 super-with-arguments
object-base             UP004 R0205 useless-object-inheritance
list-inside-call        C419 R1729 use-a-generator
literal-instead-of-call C408 R1734 R1735 use-list-literal use-dict-literal
needless-comprehension  C416 R1721 unnecessary-comprehension
set-comprehension       C401 C403 R1718 consider-using-set-comprehension
dict-comprehension      C402 C404 R1717 consider-using-dict-comprehension
open-without-with       SIM115 R1732 consider-using-with
needless-bool           SIM103 R1703 simplifiable-if-statement no-unneeded-ternary
needless-if-expression  SIM210 SIM211 R1719 simplifiable-if-expression
keys-in-membership      SIM118 C0201 consider-iterating-dictionary
mutable-default         B006 W0102 dangerous-default-value
useless-expression      B018 W0104 W0106 pointless-statement expression-not-assigned reportUnusedExpression no-unused-
useless-expression      expressions
useless-comparison      B015 reportUnusedComparison
duplicate-key           F601 F602 W0109 duplicate-key no-dupe-keys no-duplicate-object-keys
duplicate-value         B033 W0130 duplicate-value
exec                    S102 W0122 exec-used
eval                    S307 W0123 eval-used no-eval no-global-eval
assert-on-tuple         F631 W0199 assert-on-tuple reportAssertAlwaysTrue
loop-variable-captured  B023 W0640 cell-var-from-loop no-loop-func
jump-in-finally         B012 W0150 W0134 W0136 W0137 lost-exception no-unsafe-finally
logged-percent          G002 G003 W1201 logging-not-lazy
logged-format           G001 W1202 logging-format-interpolation
logged-f-string         G004 W1203 logging-fstring-interpolation
empty-f-string          F541 W1309 f-string-without-interpolation
bad-escape              W605 W1401 anomalous-backslash-in-string reportInvalidStringEscapeSequence no-useless-escape
implicit-concatenation  ISC001 W1404 implicit-str-concat reportImplicitStringConcatenation
u-prefix                UP025 W1406 redundant-u-string-prefix
cached-method           B019 W1518 method-cache-max-size-none
no-timeout              S113 W3101 missing-timeout
raised-notimplemented   F901 E0711 notimplemented-raised
return-outside          F706 E0104 return-outside-function
yield-outside           F704 E0105 yield-outside-function
late-future             F404 W0410 misplaced-future
debugger                T100 W1515 forgotten-debug-statement no-debugger
deprecated-class        UP035 W4904 deprecated-class
deprecated-decorator    UP051 W4905 deprecated-decorator
yield-in-loop           UP028 R1737 use-yield-from
needless-parens         UP034 C0325 superfluous-parens no-extra-parens
complexity              C901 R1260 too-complex complexity no-excessive-cognitive-complexity
format-arguments        F507 E1305 E1306 too-many-format-args too-few-format-args
format-unused-key       F504 W1301 unused-format-string-key
syntax-error            E999 E0001 F0010 syntax-error invalid-syntax syntax parse-error
unknown-attribute       E1101 no-member attr-defined union-attr reportAttributeAccessIssue reportOptionalMemberAccess
unknown-attribute       unresolved-attribute missing-attribute possibly-missing-attribute
unknown-import          E0401 E0611 import-error no-name-in-module import-not-found import-untyped reportMissingImports
unknown-import          reportMissingModuleSource unresolved-import missing-import
wrong-argument          arg-type reportArgumentType invalid-argument-type bad-argument-type
wrong-call              E1120 E1121 E1123 no-value-for-parameter too-many-function-args unexpected-keyword-arg call-arg
wrong-call              reportCallIssue missing-argument too-many-positional-arguments unknown-argument call-overload no-
wrong-call              matching-overload bad-argument-count
wrong-return            return-value reportReturnType invalid-return-type bad-return
wrong-assignment        assignment reportAssignmentType invalid-assignment bad-assignment
not-indexable           E1136 E1137 unsubscriptable-object unsupported-assignment-operation index reportIndexIssue
not-indexable           reportOptionalSubscript non-subscriptable not-subscriptable
wrong-operator          E1131 unsupported-binary-operation operator reportOperatorIssue reportOptionalOperand unsupported-
wrong-operator          operator unsupported-operation
not-callable            E1102 not-callable reportOptionalCall call-non-callable
not-iterable            E1133 not-an-iterable reportOptionalIterable
wrong-override          W0221 W0222 W0236 W0237 arguments-differ signature-differs arguments-renamed override
wrong-override          reportIncompatibleMethodOverride invalid-method-override bad-override
abstract-instance       E0110 abstract-class-instantiated abstract reportAbstractUsage
unknown-key             typeddict-item typeddict-unknown-key reportTypedDictNotRequiredAccess invalid-key
loose-equality          eqeqeq no-double-equals
console                 no-console
explicit-any            no-explicit-any
empty-block             no-empty no-empty-block no-empty-block-statements
prefer-const            prefer-const use-const
var                     no-var
unreachable             W0101 unreachable no-unreachable reportUnreachable unreachable-code
"""

_SECURITY = re.compile(r"[SB]([1-7]\d\d)")
_PYLINT = re.compile(r"(?:PL)?([CERWF]\d{4})")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


@lru_cache(maxsize=16384)
def kind(rule: str) -> str:
    """The defect a rule is about, named the same for every tool that has such a rule; what nobody else has names itself."""
    code = rule.strip()
    return _KINDS.get(code) or _named(code)


def is_shared(rule: str) -> bool:
    """Whether it is known which rules of other tools are the same; then words need not be asked."""
    found = kind(rule)
    return found in _SHARED or found.startswith(("security-", "pylint-"))


def _named(code: str) -> str:
    short = code.rpartition("/")[2]
    if security := _SECURITY.fullmatch(short):
        return f"security-{security[1]}"
    if pylint := _PYLINT.fullmatch(short):
        return _KINDS.get(pylint[1]) or f"pylint-{pylint[1]}"
    dashed = _HUMP.sub("-", short).casefold() if _HUMP.search(short) and "-" not in short else short
    return _KINDS.get(dashed) or dashed


def _read(table: str) -> dict[str, str]:
    return {rule: name for name, *rules in map(str.split, table.strip().splitlines()) for rule in _spellings(rules)}


def _spellings(rules: list[str]) -> set[str]:
    """Bandit's number beside ruff's, for the few that are in the table because others have them too."""
    return {*rules, *(f"B{found[1]}" for rule in rules if (found := _SECURITY.fullmatch(rule)))}


_KINDS = _read(_TABLE)
_SHARED = frozenset(_KINDS.values())
