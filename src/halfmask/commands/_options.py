"""The base of every command's options: they are checked together, and give the command line that repeats them."""

import dataclasses
import functools
import inspect
import os
import re
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
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
    overload,
)

from cyclopts import Parameter

from halfmask.commands._files import is_not_read, is_writable, meant
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
else:  # the types of the command line; Python also takes the object itself
    AnyPath = AnyProfile = AnyStudy = AnyMenu = AnyTable = AnyBallots = Path
    AnySource = AnyWeights = Numbers = Sizes = str
    AnySettings = tuple[str, ...]


def _whole(_: Any, tokens: Sequence[Any]) -> int:
    """Parse a whole number from text. Without this function, 48.5 would be rounded silently."""
    try:
        return int(tokens[0].value)
    except ValueError as error:
        raise ValueError(f"'{tokens[0].value}' is not a whole number") from error


Flag = Annotated[bool, Parameter(negative="")]
Whole = Annotated[int, Parameter(converter=_whole)]
WholeIfAny = Annotated[int | None, Parameter(converter=_whole)]
Several = Parameter(negative="", show_default=False)
"""Marks an option that may be given several times."""
InPython = Parameter(parse=False, show=False)
"""Marks a field that is not an option of the command line."""
Counter = Annotated[Callable[[int], None] | None, InPython]
"""A callback that receives how many more were done."""
Progress = Annotated[Callable[[int, int], None] | None, InPython]
"""A callback that receives ``(done, all)``."""
Teller = Annotated[Callable[[str], None] | None, InPython]
"""A callback that receives notes for the user."""

SOURCES = ("panel", "readings", "model")
"""Fields that name readings."""
READ = ("source", "db", "lake", *SOURCES)
"""Fields that name what is read, of whatever type: paths, patterns, folders, addresses."""


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(dataclasses.field,))
@dataclasses.dataclass(frozen=True)
class Options:
    """Base of every command's options; each subclass is a frozen dataclass.

    A field is an option of the command line; a field with ``kw_only=False`` is an argument. The class docstring
    describes every field under "Parameters". Base classes hold the options that several commands share.

    ``positional``  fields that Python takes by position; by default the arguments, then the output
    ``unrecorded``  fields that do not change the result: where and how fast it is made
    ``outputs``     fields that name files to write
    ``rewritten``   fields that name files which are read and may be overwritten
    """

    positional: ClassVar[tuple[str, ...]] = ()
    unrecorded: ClassVar[tuple[str, ...]] = ()
    outputs: ClassVar[tuple[str, ...]] = ("output",)
    rewritten: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        """Make the subclass a dataclass: arguments, output, its own options, those of base classes, in this order."""
        Parameter(name="*")(dataclasses.dataclass(frozen=True, kw_only=True)(cls))
        own = inspect.get_annotations(cls)

        def place(named: tuple[str, dataclasses.Field[Any]]) -> tuple[bool, bool, bool]:
            return named[1].kw_only is True, named[0] != "output", named[0] not in own

        cls.__dataclass_fields__ = dict(sorted(cls.__dataclass_fields__.items(), key=place))

    @classmethod
    def _fields(cls) -> list[tuple[dataclasses.Field[Any], tuple[Any, ...], Parameter]]:
        """Return each field with the types that it may have, and with how the command line spells it."""
        hints = get_type_hints(cls, include_extras=True)
        return [(each, *_read_hint(hints[each.name])) for each in dataclasses.fields(cls)]

    @classmethod
    def in_order(cls) -> tuple[str, ...]:
        """Return the fields that Python takes by position."""
        fields = [field for field, *_ in cls._fields()]
        arguments = [field.name for field in fields if not field.kw_only]
        return cls.positional or (*arguments, *(field.name for field in fields if field.name == "output"))

    @classmethod
    def command(cls) -> str:
        """Return the command's name, which is that of the module."""
        return cls.__module__.rpartition(".")[2].replace("_", " ")

    def check(self) -> None:
        """Check the options before any work. Raise an error if an output is also read, or cannot be written."""
        for path in self.written():
            is_writable(path)
            is_not_read(path, self.read_files())
        self.check_together()

    def check_together(self) -> None:
        """Raise an error if options do not go together."""

    def written(self) -> list[Path]:
        """Return the files that the command writes."""
        named = (getattr(self, name, None) for name in self.outputs)
        return [Path(each) for each in named if isinstance(each, str | os.PathLike)]

    def save(self, made: Any, path: Path) -> None:
        """Write the result to ``path``, if the result can be written."""
        if hasattr(made, "write"):
            made.write(path)

    def read_files(self) -> Iterator[Path]:
        """Yield the files that the command reads, as far as its options name them."""
        for field, types, _ in self._fields():
            value = getattr(self, field.name)
            named = field.name in READ or Path in types
            if named and field.name not in (*self.outputs, *self.rewritten) and isinstance(value, str | os.PathLike):
                yield from meant(os.fspath(value), folders=field.name in READ)

    def run(self) -> Any:
        """Run the command."""
        module = type(self).__module__
        return getattr(import_module(module), module.rpartition(".")[2])(self)

    def _given(self) -> list[tuple[dataclasses.Field[Any], Any, tuple[Any, ...], Parameter]]:
        """Return the fields that differ from their defaults, with value, types and spelling."""
        all_of = ((field, getattr(self, field.name), types, spelling) for field, types, spelling in self._fields())
        return [
            each
            for each in all_of
            if each[3].parse is not False and each[1] is not None and not _same(each[1], each[0].default)
        ]

    def asked(self) -> dict[str, Any]:
        """Return the options that differ from their defaults, as plain values, so that a result can record them.

        Files are left out, because whoever repeats the command names them. Readings are recorded without their folders.
        """
        return {
            field.name: _plain(value, field.name, types)
            for field, value, types, _ in self._given()
            if field.kw_only and field.name not in ("output", *self.unrecorded)
        }

    @classmethod
    def again(cls, asked: Mapping[str, Any], *arguments: Any, **files: Any) -> Self:
        """Return the options that gave a result, with other files; options unknown to this version are left out."""
        kept = {name: tuple(value) if isinstance(value, list) else value for name, value in asked.items()}
        known = {field.name for field, *_ in cls._fields()} & kept.keys()
        given = {name: kept[name] if kept[name] is None else files.get(name, kept[name]) for name in sorted(known)}
        return cls(*arguments, **given, **{name: files[name] for name in ("output",) if name in files})

    def command_line(self) -> str:
        """Return the command line that repeats this, ready to paste, without options at their defaults.

        An object cannot be typed, so the name of its field is written in capitals instead.
        """
        first, then = list[str](), list[str]()
        for field, value, types, spelling in self._given():
            option = _option(spelling, field.name)
            if not field.kw_only:
                first.append(_spelled(value, field.name))
            elif isinstance(value, bool):
                then.append(option if value else f"--no-{option.removeprefix('--')}")
            else:
                for each in value if _several(value, types) else [value]:
                    word = _spelled(each, field.name)
                    then += [f"{option}={word}"] if word.startswith("-") else [option, word]
        return shlex.join(["halfmask", *self.command().split(), *first, *then])


def _same(value: Any, default: Any) -> bool:
    """Return whether a value is the default; an array or a frame never is."""
    return value is default or (isinstance(value, str | int | float | tuple | Path) and bool(value == default))


def _read_hint(hint: Any) -> tuple[tuple[Any, ...], Parameter]:
    """Return the types that a field may have, and how the command line spells it."""
    hint, *given = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    return (hint, *get_args(hint)), next((each for each in given if isinstance(each, Parameter)), Parameter())


def _option(parameter: Parameter, name: str) -> str:
    """Return the short spelling of an output, and the first spelling of any other option."""
    spelled = [parameter.name] if isinstance(parameter.name, str) else list(parameter.name or [])
    return "-o" if "-o" in spelled else spelled[0] if spelled else f"--{name.replace('_', '-')}"


def _several(value: Any, types: tuple[Any, ...]) -> bool:
    """Return whether an option is given several times to spell a value."""
    return (
        get_origin(types[0]) in (tuple, list)
        and isinstance(value, Iterable)
        and not isinstance(value, str | Mapping | os.PathLike)
    )


def _plain(value: Any, name: str, types: tuple[Any, ...]) -> Any:
    """Return a value in a form that JSON can hold; paths and objects become ``name`` in capitals."""
    if name in SOURCES:
        return Path(value).name if isinstance(value, str | Path) and "://" not in str(value) else name.upper()
    if isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        return dict(value)
    if _several(value, types):
        return [_spelled(each, name) for each in value]
    return name.upper() if isinstance(value, os.PathLike) else _spelled(value, name)


def _spelled(value: Any, name: str) -> str:
    """Return a value as it is typed on the command line; for an object that cannot be typed, ``name`` in capitals."""
    if isinstance(value, Mapping):
        return ",".join(f"{key}={number!r}" for key, number in value.items())
    if isinstance(value, list | tuple):
        return ",".join(_spelled(each, name) for each in value)
    ours = type(value).__module__.startswith("halfmask") and any(
        "__str__" in vars(each) for each in type(value).__mro__[:-1]
    )
    return str(value) if isinstance(value, str | int | float | os.PathLike) or ours else name.upper()


P = ParamSpec("P")
O_contra = TypeVar("O_contra", contravariant=True)
R_co = TypeVar("R_co", covariant=True)
Given = TypeVar("Given", bound=Options)
R = TypeVar("R")


class Command(Protocol[O_contra, P, R_co]):
    """A command takes its options as one object, or as the arguments of that object."""

    @overload
    def __call__(self, options: O_contra, /) -> R_co: ...
    @overload
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...


def command(make: Callable[P, Given], *, group: str) -> Callable[[Callable[[Given], R]], Command[Given, P, R]]:
    """Make a function of an options object callable with that object's arguments, and let it write its result.

    ``group`` is the command's place in the list of commands.
    """

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
                made = run(options)
                for path in options.written():
                    options.save(made, path)
                return made

        described = _described(make)  # type: ignore[arg-type]
        parts = [f"{name}\n    {described[name]}" for name in signature.parameters]
        parameters = "\n".join(["Parameters", "----------", *parts])
        called.__doc__ = f"{inspect.cleandoc(run.__doc__ or '')}\n\n{parameters}"
        vars(called).update(__signature__=signature, group=group)
        return called

    return decorate


def _described(options: type[Options]) -> dict[str, str]:
    """Return the description of each field: of the class itself before those of its bases, then of its type."""
    found: dict[str, str] = {}
    for each in options.__mro__[:-2]:
        parameters = inspect.cleandoc(each.__doc__ or "").partition("----------\n")[2]
        for name, text in re.findall(r"^(\w+)\n((?:[ ]+.*\n?|\n)+)", f"{parameters}\n", re.MULTILINE):
            found.setdefault(name, text.strip())
    return {field.name: str(spelling.help) for field, _, spelling in options._fields()} | found


def _plain_hint(each: inspect.Parameter) -> inspect.Parameter:
    """Return a parameter without what only the command line reads of its type."""
    hint = each.annotation
    return each.replace(annotation=get_args(hint)[0] if get_origin(hint) is Annotated else hint)


def _signature(make: type[Options], run: Callable[..., Any]) -> inspect.Signature:
    """Return the fields of the options as arguments: first those by position, then the others by name."""
    of, first = {name: _plain_hint(each) for name, each in inspect.signature(make).parameters.items()}, make.in_order()
    by_position = [of[name].replace(kind=inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in first]
    needed = max((place for place, each in enumerate(by_position) if each.default is each.empty), default=-1)
    by_position[: max(needed, 0)] = [each.replace(default=each.empty) for each in by_position[: max(needed, 0)]]
    by_name = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for name, each in of.items() if name not in first]
    return inspect.Signature([*by_position, *by_name], return_annotation=inspect.signature(run).return_annotation)
