"""AWS::CloudFormation::WaitConditionHandle and AWS::CloudFormation::WaitCondition."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from calor.server.resources.base import Context, ReferenceId
from calor.server.resources.declare import UPDATABLE, Alias, attributes
from calor.server.resources.heat.signals import CFN_KEYS, check_complete
from calor.server.resources.heat.waiting import SignalledHandle, Waiting, metadata_of, received
from calor.server.template.properties import AttributeSchema, Kind, Range, Support


@dataclass(frozen=True, kw_only=True)
class HandleProps:
    """None."""


class WaitConditionHandle(SignalledHandle[HandleProps]):
    """A signed URL to which ``cfn-signal`` puts; ``Ref`` gives it."""

    name, props = "AWS::CloudFormation::WaitConditionHandle", HandleProps
    support = Support(since="2014.1")
    reference_id = ReferenceId.OWN

    async def create(self, at: Context, want: HandleProps) -> str:
        return at.me.physical_name

    async def reference(self, at: Context) -> Any:
        return at.urls.wait_condition(at.me.id) if at.me.physical_id else None

    def check_signal(self, details: Mapping[str, Any]) -> None:
        check_complete(details)

    def aws_signal(self, unique_id: str, succeeded: bool) -> Mapping[str, Any]:
        said = super().aws_signal(unique_id, succeeded)
        return {theirs: said.get(ours, "") for theirs, ours in CFN_KEYS.items()}

    async def attribute(self, at: Context, was: HandleProps, name: str) -> Any:
        return metadata_of(await received(at))


@dataclass(frozen=True, kw_only=True)
class ConditionProps:
    handle: Annotated[str, Alias("Handle")]
    timeout: Annotated[int, Alias("Timeout"), Range(1, 43200)]
    count: Annotated[int, Alias("Count"), UPDATABLE, Range(min=1)] = 1


class WaitCondition(Waiting[ConditionProps]):
    """Complete once its handle has had ``Count`` successes; failed at the first failure or when time is up."""

    name, props = "AWS::CloudFormation::WaitCondition", ConditionProps
    support = Support(since="2014.1")
    attributes = attributes(Data=AttributeSchema(kind=Kind.STRING, cached=False))
