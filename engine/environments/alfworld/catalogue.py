"""What the households of our own are made of: rooms, receptacles, objects, and what fits where.

The names and the six kinds of tasks are those of ALFWorld (arXiv 2010.03768), so that a model meets the words it will
meet there. The amounts, the floor plans and the placements are our own, and none of ALFWorld's data is used.
"""

from __future__ import annotations

from typing import Final, Literal

TaskType = Literal[
    "pick_and_place_simple",
    "look_at_obj_in_light",
    "pick_clean_then_place_in_recep",
    "pick_heat_then_place_in_recep",
    "pick_cool_then_place_in_recep",
    "pick_two_obj_and_place",
]

# Two wordings of each goal: {0} is the object, {1} the receptacle or the lamp.
GOALS: Final[dict[TaskType, tuple[str, str]]] = {
    "pick_and_place_simple": ("put a {0} in {1}", "put some {0} on {1}"),
    "look_at_obj_in_light": ("look at {0} under the {1}", "examine the {0} with the {1}"),
    "pick_clean_then_place_in_recep": ("put a clean {0} in {1}", "clean some {0} and put it in {1}"),
    "pick_heat_then_place_in_recep": ("put a hot {0} in {1}", "heat some {0} and put it in {1}"),
    "pick_cool_then_place_in_recep": ("put a cool {0} in {1}", "cool some {0} and put it in {1}"),
    "pick_two_obj_and_place": ("put two {0} in {1}", "find two {0} and put them in {1}"),
}
# The treatment that a task needs, and the appliance for each.
TREATMENTS: Final[dict[TaskType, str]] = {
    "pick_clean_then_place_in_recep": "clean",
    "pick_heat_then_place_in_recep": "heat",
    "pick_cool_then_place_in_recep": "cool",
}
APPLIANCES: Final = {"clean": "sinkbasin", "heat": "microwave", "cool": "fridge"}

# By room: each type of receptacle with its smallest and largest number.
ROOMS: Final[dict[str, dict[str, tuple[int, int]]]] = {
    "kitchen": {
        "cabinet": (2, 6),
        "coffeemachine": (1, 1),
        "countertop": (1, 3),
        "diningtable": (0, 1),
        "drawer": (2, 5),
        "fridge": (1, 1),
        "garbagecan": (1, 1),
        "microwave": (1, 1),
        "shelf": (0, 2),
        "sinkbasin": (1, 1),
        "stoveburner": (2, 4),
        "toaster": (1, 1),
    },
    "living room": {
        "armchair": (1, 2),
        "cabinet": (0, 3),
        "coffeetable": (1, 1),
        "drawer": (0, 4),
        "garbagecan": (1, 1),
        "safe": (0, 1),
        "shelf": (0, 3),
        "sidetable": (1, 3),
        "sofa": (1, 2),
        "tvstand": (1, 1),
    },
    "bedroom": {
        "bed": (1, 1),
        "desk": (1, 2),
        "drawer": (2, 5),
        "dresser": (0, 1),
        "garbagecan": (1, 1),
        "laundryhamper": (0, 1),
        "safe": (0, 1),
        "shelf": (1, 4),
        "sidetable": (1, 2),
    },
    "bathroom": {
        "bathtubbasin": (1, 1),
        "cabinet": (1, 4),
        "countertop": (1, 1),
        "drawer": (0, 3),
        "garbagecan": (1, 1),
        "handtowelholder": (1, 2),
        "shelf": (0, 2),
        "sinkbasin": (1, 2),
        "toilet": (1, 1),
        "toiletpaperhanger": (1, 1),
        "towelholder": (1, 1),
    },
}
OPENABLE: Final = frozenset({"cabinet", "drawer", "fridge", "microwave", "safe"})
LAMPS: Final = frozenset({"desklamp"})

_TABLES = ("countertop", "diningtable", "coffeetable", "sidetable", "desk", "dresser", "shelf", "tvstand")
_STORES = ("cabinet", "drawer")
_FOOD = ("countertop", "diningtable", "fridge", "garbagecan", "microwave", "sinkbasin")
_DISHES = ("cabinet", "coffeetable", "countertop", "desk", "diningtable", "fridge", "microwave", "shelf", "sinkbasin")
_CUTLERY = ("countertop", "diningtable", "drawer", "sinkbasin")
_POTS = ("cabinet", "countertop", "diningtable", "sinkbasin", "stoveburner")
_SMALL = (*_TABLES, *_STORES, "armchair", "bed", "safe", "sofa")
_BATH = ("bathtubbasin", "cabinet", "countertop", "drawer", "garbagecan", "shelf", "sinkbasin", "toilet")

# By object: the receptacles that it can be in or on.
FITS: Final[dict[str, tuple[str, ...]]] = {
    "apple": _FOOD,
    "bread": ("countertop", "diningtable", "fridge", "garbagecan", "microwave"),
    "egg": _FOOD,
    "lettuce": ("countertop", "diningtable", "fridge", "garbagecan", "sinkbasin"),
    "potato": _FOOD,
    "tomato": _FOOD,
    "bowl": _DISHES,
    "cup": _DISHES,
    "mug": (*_DISHES, "coffeemachine"),
    "plate": _DISHES,
    "winebottle": ("cabinet", "countertop", "diningtable", "fridge"),
    "butterknife": _CUTLERY,
    "dishsponge": (*_CUTLERY, "cabinet"),
    "fork": _CUTLERY,
    "knife": _CUTLERY,
    "ladle": _CUTLERY,
    "spatula": _CUTLERY,
    "spoon": _CUTLERY,
    "kettle": _POTS,
    "pan": _POTS,
    "pot": _POTS,
    "peppershaker": (*_STORES, "countertop", "diningtable", "shelf"),
    "saltshaker": (*_STORES, "countertop", "diningtable", "shelf"),
    "alarmclock": (*_TABLES, "drawer"),
    "book": _SMALL,
    "box": ("armchair", "bed", "coffeetable", "desk", "dresser", "sidetable", "sofa", "tvstand"),
    "cd": (*_SMALL, "garbagecan"),
    "cellphone": _SMALL,
    "creditcard": _SMALL,
    "keychain": _SMALL,
    "laptop": ("armchair", "bed", "coffeetable", "desk", "dresser", "sidetable", "sofa", "tvstand"),
    "newspaper": (*_SMALL, "garbagecan"),
    "pen": (*_TABLES, "bed", "drawer", "garbagecan", "safe"),
    "pencil": (*_TABLES, "bed", "drawer", "garbagecan", "safe"),
    "pillow": ("armchair", "bed", "sofa"),
    "remotecontrol": _SMALL,
    "statue": (*_TABLES, "safe"),
    "tissuebox": (*_TABLES, *_STORES, "garbagecan", "toilet"),
    "vase": (*_TABLES, "cabinet", "safe"),
    "watch": _SMALL,
    "candle": (*_BATH, "coffeetable"),
    "cloth": (*_BATH, "laundryhamper"),
    "handtowel": ("handtowelholder", "bathtubbasin", "countertop", "sinkbasin"),
    "soapbar": _BATH,
    "soapbottle": _BATH,
    "spraybottle": _BATH,
    "toiletpaper": (*_BATH, "toiletpaperhanger"),
    "towel": ("towelholder", "bathtubbasin"),
    "desklamp": ("desk", "dresser", "sidetable", "shelf"),
}
FOUND_IN: Final[dict[str, tuple[str, ...]]] = {
    "kitchen": (
        *("apple", "bread", "egg", "lettuce", "potato", "tomato", "bowl", "cup", "mug", "plate", "winebottle"),
        *("butterknife", "dishsponge", "fork", "knife", "ladle", "spatula", "spoon", "kettle", "pan", "pot"),
        *("peppershaker", "saltshaker", "soapbottle", "vase", "statue"),
    ),
    "living room": (
        *("book", "box", "candle", "cd", "creditcard", "keychain", "laptop", "newspaper", "pillow", "plate"),
        *("remotecontrol", "statue", "tissuebox", "vase", "watch", "pen", "pencil", "cellphone"),
    ),
    "bedroom": (
        *("alarmclock", "book", "bowl", "box", "cd", "cellphone", "cloth", "creditcard", "keychain", "laptop"),
        *("mug", "pen", "pencil", "pillow", "statue", "tissuebox", "vase", "watch"),
    ),
    "bathroom": (
        *("candle", "cloth", "handtowel", "soapbar", "soapbottle", "spraybottle", "tissuebox", "toiletpaper"),
        *("towel", "dishsponge"),
    ),
}
# By treatment: the objects that it works on.
TREATABLE: Final[dict[str, frozenset[str]]] = {
    "clean": frozenset(
        {
            *("apple", "bowl", "butterknife", "cloth", "cup", "dishsponge", "egg", "fork", "kettle", "knife", "ladle"),
            *("lettuce", "mug", "pan", "plate", "pot", "potato", "soapbar", "spatula", "spoon", "tomato"),
        }
    ),
    "heat": frozenset({"apple", "bread", "cup", "egg", "mug", "plate", "potato", "tomato"}),
    "cool": frozenset(
        {
            *("apple", "bowl", "bread", "cup", "egg", "lettuce", "mug", "pan", "plate", "pot", "potato", "tomato"),
            "winebottle",
        }
    ),
}
SLICEABLE: Final = frozenset({"apple", "bread", "lettuce", "potato", "tomato"})
KNIVES: Final = frozenset({"butterknife", "knife"})


def type_of(name: str) -> str:
    """`mug` of `mug 2`."""
    return name.rpartition(" ")[0]
