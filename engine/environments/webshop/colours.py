"""Colour normalisation of option values, with WebShop's list of colour words.

The words and their order decide rewards, so they are those of princeton-nlp/WebShop (`engine/normalize.py`).
"""

from __future__ import annotations

_LISTED = (
    "alabaster apricot aqua ash asphalt azure banana beige black blue blush bordeaux bronze brown burgundy camel "
    "camo caramel champagne charcoal cheetah chestnut chocolate christmas coffee cognac copper coral cranberry "
    "cream crystal dark denim eggplant elephant espresso fuchsia gold granite grape graphite grass gray green grey "
    "heather indigo ivory ivy khaki lavender lemon leopard light lilac lime magenta maroon mauve merlot midnight "
    "mint mocha multicolor mushroom mustard natural navy nude olive orange peach pewter pink plum purple rainbow "
    "red rose royal rust sand sapphire seashell silver skull slate steel stone stonewash sunflower tan taupe teal "
    "tiger turquoise violet walnut wheat white wine yellow"
)
COLOURS = tuple(_LISTED.split())


def normalise_colour(value: str) -> str:
    """The first colour word that `value` contains, also within a word ("standard" is tan); else `value` itself."""
    return next((colour for colour in COLOURS if colour in value), value)


def normalise_pair(group: str, value: str) -> str:
    """The same of a goal's group and value, as WebShop has it: only a whole value, or group, that is a colour word
    counts; else the text of both, so that the group's name takes part in the match."""
    return next((colour for colour in COLOURS if colour in (group, value)), f"{group} {value}")
