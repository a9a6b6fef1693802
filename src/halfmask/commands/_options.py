"""What the options of every command have in common: they can be checked, and they know their own command line."""

import dataclasses
import functools
import inspect
import os
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    ParamSpec,
    Protocol,
    Self,
    TypeVar,
    cast,
    get_args,
    get_origin,
    get_type_hints,
    overload,
)

from cyclopts import Parameter

from halfmask.commands._outputs import has_a_place, is_not_read, meant
from halfmask.extras import naming_extras

if TYPE_CHECKING:
    from halfmask.evaluation.scores import Weights
    from halfmask.evaluation.study import Study
    from halfmask.mechanisms.setting import PrivacySetting
    from halfmask.menus.menu import Menu
    from halfmask.profiles.profile import Profile

    AnyPath = Path | str
    AnyProfile = Profile | Path | str
    AnyStudy = Study | Path | str
    AnyMenu = Menu | Path | str
    AnySource = Any  # a path or address, or any frame that Narwhals takes
    AnySettings = Iterable[str | PrivacySetting]
    AnyWeights = Weights | str
    AnyTable = Mapping[str, float] | Path | str
    AnyBallots = Sequence[Sequence[str]] | Path | str
    Numbers = Mapping[str, float] | str
    Sizes = Sequence[int | str] | str
else:  # what the command line gives: in Python, the object in hand does as well
    AnyPath = AnyProfile = AnyStudy = AnyMenu = AnyTable = AnyBallots = Path
    AnySource = AnyWeights = Numbers = Sizes = str
    AnySettings = tuple[str, ...]

Flag = Annotated[bool, Parameter(negative="")]
Output = Annotated[AnyPath | None, Parameter(name=["--output", "-o"], required=True)]
"""A file to write; the command line demands it, Python gives the result in any case."""
OutputIfAny = Annotated[AnyPath | None, Parameter(name=["--output", "-o"])]


def _whole(_: Any, tokens: Sequence[Any]) -> int:
    """A whole number as it is written: 48.5 would be rounded without this."""
    try:
        return int(tokens[0].value)
    except ValueError as error:
        raise ValueError(f"'{tokens[0].value}' is not a whole number") from error


Whole = Annotated[int, Parameter(converter=_whole)]
WholeIfAny = Annotated[int | None, Parameter(converter=_whole)]

_HIDDEN = Parameter(parse=False, show=False)
Counter = Annotated[Callable[[int], None] | None, _HIDDEN]
"""A field of this type hears how many more were done; it is no option of the command line."""
Progress = Annotated[Callable[[int, int], None] | None, _HIDDEN]
"""A field of this type hears ``(done, all)``; it is no option of the command line."""
Teller = Annotated[Callable[[str], None] | None, _HIDDEN]
"""A field of this type hears notes; it is no option of the command line."""


@dataclasses.dataclass(frozen=True)
class Options:
    """Base of every command's options. The class stands in the module of its command.

    Fields that are keyword-only are options of the command line, the others its arguments. ``positional`` names the
    fields that Python takes by position: the arguments and then the output, unless a command says otherwise.
    ``unrecorded`` names those that do not change the result: where and how fast it is made. ``outputs`` names the files
    that are written, ``rewritten`` those that are read and may be written over.
    """

    positional: ClassVar[tuple[str, ...]] = ()
    unrecorded: ClassVar[tuple[str, ...]] = ()
    outputs: ClassVar[tuple[str, ...]] = ("output",)
    rewritten: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def in_order(cls) -> tuple[str, ...]:
        """The fields that Python takes by position."""
        fields = dataclasses.fields(cls)
        return cls.positional or tuple(each.name for each in fields if not each.kw_only or each.name == "output")

    @classmethod
    def command(cls) -> str:
        """The command's name."""
        return cls.__module__.rpartition(".")[2].replace("_", " ")

    def check(self) -> None:
        """Refuse a file that could not be written, or that is read, before the work for it is done."""
        for name in self.outputs:
            output = getattr(self, name, None)
            if output is not None:
                has_a_place(Path(output))
                is_not_read(Path(output), self.read_files())

    def read_files(self) -> Iterator[Path]:
        """The files that the command reads, as far as its options name them."""
        hints = get_type_hints(type(self))
        for field in dataclasses.fields(self):
            value, hint = getattr(self, field.name), hints[field.name]
            named = field.name in READ or Path in (hint, *get_args(hint))
            if named and field.name not in (*self.outputs, *self.rewritten) and isinstance(value, str | os.PathLike):
                yield from meant(os.fspath(value), folders=field.name in READ)

    def run(self) -> Any:
        """Run the command."""
        module = type(self).__module__
        return getattr(import_module(module), module.rpartition(".")[2])(self)

    def asked(self) -> dict[str, Any]:
        """What was asked for beyond the defaults, as plain values: results keep it, so that they can be repeated.

        Files are left to whoever repeats it, readings are named without their folders.
        """
        hints, found = get_type_hints(type(self), include_extras=True), {}
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            skipped = not field.kw_only or field.name in ("output", *self.unrecorded)
            if skipped or _parameter(hints[field.name]).parse is False or value is None or value == field.default:
                continue
            found[field.name] = _plain(value, field.name, hints[field.name])
        return found

    @classmethod
    def again(cls, asked: Mapping[str, Any], *arguments: Any, **files: Any) -> Self:
        """The options that asked for a result, with the files of now; what this version does not know is left out."""
        known = {field.name: field for field in dataclasses.fields(cls)}
        kept = {name: tuple(value) if isinstance(value, list) else value for name, value in asked.items()}
        given = {name: files.get(name, value) for name, value in kept.items() if name in known}
        return cls(*arguments, **given, **{name: files[name] for name in ("output",) if name in files})

    def command_line(self) -> str:
        """The command that does the same, ready to paste; what differs from the defaults is written out.

        An object in hand has no name there: its place is taken by the field's name in capitals.
        """
        return shlex.join(["halfmask", *self.command().split(), *self.words()])

    def words(self) -> list[str]:
        """The arguments and options of the command line."""
        hints, first, then = get_type_hints(type(self), include_extras=True), [], []
        for field in dataclasses.fields(self):
            value, parameter = getattr(self, field.name), _parameter(hints[field.name])
            if parameter.parse is False or value is None or value == field.default:
                continue
            if not field.kw_only:
                first.append(_spelled(value, field.name))
                continue
            option = _option(parameter, field.name)
            if isinstance(value, bool):
                then.append(option if value else f"--no-{option.removeprefix('--')}")
                continue
            several = (
                not isinstance(value, str | Mapping) and isinstance(value, Iterable) and _repeats(hints[field.name])
            )
            for each in value if several else [value]:
                word = _spelled(each, field.name)
                then += [f"{option}={word}"] if word.startswith("-") else [option, word]
        return [*first, *then]


class Readable(Protocol):
    """A result that has a file."""

    @classmethod
    def read(cls, path: "Path | str", /) -> Self: ...


Result = TypeVar("Result", bound=Readable)


def held(kind: type[Result], given: "Result | Path | str") -> Result:
    """The result in hand, or the one in a file."""
    return given if isinstance(given, kind) else kind.read(cast("Path | str", given))


def _parameter(hint: Any) -> Parameter:
    """How a field is spelled on the command line."""
    given = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
    return next((each for each in given if isinstance(each, Parameter)), Parameter())


def _option(parameter: Parameter, name: str) -> str:
    """The short spelling of an output, the first of any other."""
    spelled = [parameter.name] if isinstance(parameter.name, str) else list(parameter.name or [])
    return "-o" if "-o" in spelled else spelled[0] if spelled else f"--{name.replace('_', '-')}"


def _repeats(hint: Any) -> bool:
    """Whether an option may be given several times."""
    hint = get_args(hint)[0] if get_origin(hint) is Annotated else hint
    return get_origin(hint) in (tuple, list)


SOURCES = ("panel", "readings", "model")
"""Fields that name readings."""
READ = ("source", "db", "lake", *SOURCES)
"""Fields that name what is read, of whatever type: paths, patterns, folders, addresses."""


def _plain(value: Any, name: str, hint: Any) -> Any:
    """A value as JSON has it."""
    if name in SOURCES:
        return Path(value).name if isinstance(value, str | Path) and "://" not in str(value) else name.upper()
    if isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        return dict(value)
    if not isinstance(value, str | os.PathLike) and isinstance(value, Iterable) and _repeats(hint):
        return [_spelled(each, name) for each in value]
    return name.upper() if isinstance(value, os.PathLike) else _spelled(value, name)


def _spelled(value: Any, name: str) -> str:
    if isinstance(value, Mapping):
        return ",".join(f"{key}={number!r}" for key, number in value.items())
    if isinstance(value, list | tuple):
        return ",".join(_spelled(each, name) for each in value)
    if isinstance(value, float):
        return repr(value)
    ours = type(value).__module__.startswith("halfmask.") and "__str__" in vars(type(value))
    if isinstance(value, str | int | os.PathLike) or ours:
        return str(value)
    return name.upper()


P = ParamSpec("P")
O_contra = TypeVar("O_contra", contravariant=True)
R_co = TypeVar("R_co", covariant=True)


class Command(Protocol[O_contra, P, R_co]):
    """A command takes its options as one object, or as the arguments of that object."""

    @overload
    def __call__(self, options: O_contra, /) -> R_co: ...
    @overload
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...


Given = TypeVar("Given", bound=Options)
R = TypeVar("R")


def command(make: Callable[P, Given]) -> Callable[[Callable[[Given], R]], Command[Given, P, R]]:
    """Make a function of an options object callable with that object's arguments as well."""

    def decorate(run: Callable[[Given], R]) -> Command[Given, P, R]:
        signature = _signature(make, run)  # type: ignore[arg-type]

        @functools.wraps(run)
        def called(*args: Any, **kwargs: Any) -> R:
            if len(args) == 1 and not kwargs and isinstance(args[0], Options):
                options: Any = args[0]
            else:
                options = make(**signature.bind(*args, **kwargs).arguments)  # type: ignore[call-arg]
            with naming_extras():
                options.check()
                return run(options)

        called.__signature__ = signature  # type: ignore[attr-defined]
        fields = inspect.cleandoc(make.__doc__ or "").partition("\n")[2]
        called.__doc__ = f"{inspect.cleandoc(run.__doc__ or '')}\n{fields}"
        return called

    return decorate


def _signature(make: type[Options], run: Callable[..., Any]) -> inspect.Signature:
    """The fields of the options as arguments: first those by position, then the others by name."""
    of, first = inspect.signature(make), make.in_order()
    by_position = [of.parameters[name].replace(kind=inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in first]
    needed = max((place for place, each in enumerate(by_position) if each.default is each.empty), default=-1)
    by_position[: max(needed, 0)] = [each.replace(default=each.empty) for each in by_position[: max(needed, 0)]]
    by_name = [
        each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for name, each in of.parameters.items() if name not in first
    ]
    return inspect.Signature([*by_position, *by_name], return_annotation=inspect.signature(run).return_annotation)
