"""Why a line of a trainer elsewhere is not stored."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, Field, ValidationError

LARGEST = 2**53
SHOWN = 60  # characters of a value

Model = TypeVar("Model", bound=BaseModel)


def _printable(name: str) -> str:
    if not name.isprintable():
        raise ValueError("a name has printable characters only")
    return name


Name = Annotated[str, Field(max_length=60), AfterValidator(_printable)]  # of an environment


class Refused(ValueError):
    """The text is the reason."""


def whole(data: dict[str, Any], name: str, *, low: int) -> int:
    value = data.get(name)
    if type(value) is not int or not low <= value < LARGEST:
        raise Refused(f"{name} is {str(value)[:SHOWN]!r}; it must be a whole number of at least {low}.")
    return value


def checked(model: type[Model], data: object) -> Model:
    """`data` as a `model`; `Refused` with the first thing that is wrong, and where it is."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"]).lstrip(".")
        given = str(first["input"])[:SHOWN]
        message = first["msg"].removeprefix("Value error, ")
        raise Refused(f"{path}: {message}, got {given!r}.") from None
