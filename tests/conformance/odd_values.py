"""Values that changed templates get in the place of what they had: fitting ones, and ones of every other shape."""

from collections.abc import Sequence
from typing import Any

SCALARS: Sequence[Any] = (
    *(None, True, False, 0, 1, -1, 2.5, "", "a", "7", "true", "x" * 300, "x" * 70_000, [], ["a"], [1, None], {}),
    *({"a": 1}, {"a": {"b": ["c"]}}, [["a"]], [{"a": "b"}], "get_param", 10**20, "ü", " ", "a.b"),
)
CONSTRAINTS: Sequence[Any] = (
    *({"length": {"min": 1}}, {"length": {"min": 3, "max": 1}}, {"length": 5}, {"range": {"min": 0, "max": 9}}),
    *({"range": {}}, {"range": {"min": "a"}}, {"allowed_values": ["a", "x"]}, {"allowed_values": "a"}, {"zz": 1}),
    *({"allowed_pattern": "[a-z]+"}, {"allowed_pattern": "(["}, {"allowed_pattern": 5}, {"modulo": {"step": 2}}),
    *({"custom_constraint": "nova.flavor"}, {"custom_constraint": "zz.zz"}, {"modulo": {"step": 2, "offset": 0}}),
    *({"allowed_values": []}, {"description": "d"}, {}, "length", {"length": {"min": 1}, "range": {"min": 1}}, None),
    *({"allowed_values": {"get_param": "x"}}, {"length": {"min": "1"}, "description": 5}, {"length": {"min": 1.5}}),
)
CFN_CONSTRAINTS: Sequence[tuple[str, Any]] = (
    *(("MinLength", 1), ("MaxLength", "5"), ("MinValue", 0), ("MaxValue", "x"), ("AllowedValues", ["a", "x"])),
    *(("AllowedValues", "a"), ("AllowedPattern", "[a-z]+"), ("AllowedPattern", "(["), ("ConstraintDescription", 5)),
    *(("MinLength", None), ("NoEcho", "true"), ("NoEcho", True), ("NoEcho", "zz"), ("AllowedValues", [])),
)
TYPES = ("string", "number", "json", "comma_delimited_list", "boolean", "String", "Number", "Json", "zz", None, 5)
POLICIES: Sequence[Any] = (
    *("Delete", "Retain", "Snapshot", "delete", "retain", "snapshot", "RETAIN", "", None, 5, ["Retain"], {}, "zz"),
    *({"get_param": "zz"}, {"Ref": "zz"}, True),
)
UPDATES: Sequence[Any] = (
    *({}, None, {"rolling_updates": {"max_batch_size": 1}}, {"batch_create": {}}, {"zz": 1}, [], "x", {"a": None}),
    *({"AutoScalingRollingUpdate": {"MaxBatchSize": 1}}, {"rolling_update": {"pause_time": "x"}}, {"get_param": "zz"}),
)
GROUPS: Sequence[Any] = (
    *(None, [], {}, "x", [{}], [{"parameters": None}], [{"parameters": []}], [{"parameters": ["zz"]}], [None], 5),
    *([{"parameters": "zz"}], [{"label": "l"}], [{"parameters": [{"a": 1}]}], [{"zz": 1, "parameters": []}], ["a"]),
    *([{"label": 5, "description": None, "parameters": []}], [{"parameters": [], "label": ["x"]}], {"parameters": []}),
)
