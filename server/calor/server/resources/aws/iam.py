"""AWS::IAM::User and AWS::IAM::AccessKey: keys by which the tools of an instance read its stack's metadata."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from calor.server.resources.base import Context, ReferenceId, ResourceType
from calor.server.resources.declare import NOT_IMPLEMENTED, Alias, attributes
from calor.server.template import Secret
from calor.server.template.properties import AllowedValues, AttributeSchema, Kind


@dataclass(frozen=True, kw_only=True)
class LoginProfile:
    password: Annotated[str | None, Alias("Password")] = None


@dataclass(frozen=True, kw_only=True)
class UserProps:
    path: Annotated[str | None, Alias("Path")] = None
    groups: Annotated[tuple[Any, ...] | None, Alias("Groups")] = None
    login: Annotated[LoginProfile | None, Alias("LoginProfile")] = None
    policies: Annotated[tuple[Any, ...] | None, Alias("Policies")] = None


class User(ResourceType[UserProps]):
    """A name for access keys: none of Keystone's, since keys need none here."""

    name, props = "AWS::IAM::User", UserProps
    supports = frozenset({"suspend", "resume"})
    reference_id = ReferenceId.PHYSICAL_NAME

    async def create(self, at: Context, want: UserProps) -> str:
        return at.me.physical_name

    async def suspend(self, at: Context, was: UserProps) -> None:
        """Its keys open what is there to be read, as before."""

    async def resume(self, at: Context, was: UserProps) -> None:
        """Nothing was taken away."""


@dataclass(frozen=True, kw_only=True)
class AccessKeyProps:
    user: Annotated[str, Alias("UserName")]
    serial: Annotated[int | None, Alias("Serial"), NOT_IMPLEMENTED] = None
    status: Annotated[str | None, Alias("Status"), AllowedValues("Active", "Inactive"), NOT_IMPLEMENTED] = None


class AccessKey(ResourceType[AccessKeyProps]):
    """An EC2 key pair of the CloudFormation API; ``Ref`` gives the access key. It opens the metadata of its stack's
    instances and the signals of its stack, nothing else, and dies with the resource."""

    name, props = "AWS::IAM::AccessKey", AccessKeyProps
    opens_stack = True
    attributes = attributes(
        SecretAccessKey=AttributeSchema(kind=Kind.STRING, cached=False),
        UserName=AttributeSchema(kind=Kind.STRING, cached=False),
    )

    async def create(self, at: Context, want: AccessKeyProps) -> str:
        return (await at.guests.ec2_pair(at.me.id))[0]

    async def attribute(self, at: Context, was: AccessKeyProps, name: str) -> Any:
        access, secret = await at.guests.ec2_pair(at.me.id)
        known: Mapping[str, Any] = {"UserName": was.user, "SecretAccessKey": Secret(secret)}
        return {"AccessKey": access, "UserName": was.user} if name == "show" else known[name]
