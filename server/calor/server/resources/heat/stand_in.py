"""OS::Heat::TestResource: waits, fails and replaces as it is told."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from calor.server.resources.base import Context, ResourceFailed, ResourceType, UpdateReplace
from calor.server.resources.declare import UPDATABLE, Since, attributes
from calor.server.template.properties import AttributeSchema, Custom, Support


@dataclass(frozen=True, kw_only=True)
class ActionWaits:
    create: Annotated[float | None, UPDATABLE] = None
    update: Annotated[float | None, UPDATABLE] = None
    delete: Annotated[float | None, UPDATABLE] = None


@dataclass(frozen=True, kw_only=True)
class TestProps:
    __test__ = False  # for pytest: no test case

    value: Annotated[str, UPDATABLE] = "test_string"
    fail: Annotated[bool, UPDATABLE] = False
    update_replace: Annotated[bool, UPDATABLE] = False
    update_replace_value: Annotated[str | None, Since("7.0.0")] = None
    wait_secs: Annotated[float, UPDATABLE] = 0
    action_wait_secs: Annotated[ActionWaits | None, UPDATABLE] = None
    client_name: Annotated[str, UPDATABLE] = ""
    entity_name: Annotated[str, UPDATABLE] = ""
    attr_wait_secs: Annotated[float, UPDATABLE, Since("6.0.0")] = 0
    constraint_prop_secs: Annotated[float, UPDATABLE, Since("6.0.0"), Custom("test_constr")] = 0


class TestResource(ResourceType[TestProps]):
    """For tests of stacks."""

    __test__ = False

    name, props = "OS::Heat::TestResource", TestProps
    support = Support(since="5.0.0")
    supports = frozenset({"check"})
    follows: ClassVar[Mapping[str, frozenset[str]]] = {"output": frozenset({"value"})}
    attributes = attributes(output=AttributeSchema(cached=False))

    async def create(self, at: Context, want: TestProps) -> str:
        if want.fail and not wait_of(want, "create"):
            raise ResourceFailed(f"Test Resource failed {at.me.name}")
        return at.me.physical_name

    async def settle(self, at: Context, want: TestProps) -> None:
        await act(at, want, "create")

    def must_replace(self, was: Mapping[str, Any], want: Mapping[str, Any], changed: frozenset[str]) -> str | None:
        if "value" in changed and want.get("update_replace"):
            return "update_replace is set and the value changes"
        if want.get("update_replace_value") is not None and want.get("value") == want["update_replace_value"]:
            return "the value becomes update_replace_value"
        return None

    async def update(self, at: Context, want: TestProps, was: TestProps, changed: frozenset[str]) -> None:
        if "value" in changed and (want.update_replace or want.value == want.update_replace_value):
            raise UpdateReplace(self.name)
        await act(at, want, "update")

    async def delete(self, at: Context, was: TestProps | None) -> None:
        if was is not None:
            await at.sleep(wait_of(was, "delete"))

    async def check(self, at: Context, was: TestProps) -> None:
        """It is as well as it ever was."""

    async def attribute(self, at: Context, was: TestProps, name: str) -> str:
        if was.attr_wait_secs:
            await at.sleep(was.attr_wait_secs)
        return was.value


def wait_of(want: TestProps, action: str) -> float:
    own = getattr(want.action_wait_secs, action, None) if want.action_wait_secs else None
    return want.wait_secs if own is None else float(own)


async def act(at: Context, want: TestProps, action: str) -> None:
    seconds = wait_of(want, action)
    if seconds:
        await at.sleep(seconds)
    if want.fail:
        raise ResourceFailed(f"Test Resource failed {at.me.name}")
