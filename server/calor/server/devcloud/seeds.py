"""What is there at the start. Each piece is made when it is missing, so an older state gets what is new."""

from collections.abc import Mapping
from pathlib import Path

from calor.server.devcloud.calls import new_id, now
from calor.server.devcloud.cinder.surroundings import new_type
from calor.server.devcloud.cinder.volumes import DEFAULT_TYPE
from calor.server.devcloud.documents import Doc, Documents
from calor.server.devcloud.glance.images import make as make_image
from calor.server.devcloud.images.catalog import DESCRIPTION, load
from calor.server.devcloud.keystone.directory import new_project, new_role, new_user
from calor.server.devcloud.keystone.passwords import hash_password, is_password
from calor.server.devcloud.neutron.addresses import random_mac
from calor.server.devcloud.neutron.networks import NETWORK
from calor.server.devcloud.neutron.ports import PORT
from calor.server.devcloud.neutron.routers import GATEWAY, INTERFACE, ROUTER
from calor.server.devcloud.neutron.security_groups import default_group
from calor.server.devcloud.neutron.subnets import SUBNET, planned
from calor.server.devcloud.nova import flavors, keypairs
from calor.server.devcloud.roles import grant

PROJECTS = ("admin", "demo", "service")
ROLES = ("admin", "manager", "member", "reader", "service", "heat_stack_owner", "heat_stack_user")
USERS = {
    "admin": ("admin", ("admin", "heat_stack_owner")),
    "demo": ("demo", ("member", "heat_stack_owner")),
    "calor": ("service", ("admin", "service")),
}
FLAVORS = (
    ("m1.nano", 128, 1, 1),
    ("m1.tiny", 512, 1, 1),
    ("m1.small", 2048, 20, 1),
    ("m1.medium", 4096, 40, 2),
    ("m1.large", 8192, 80, 4),
    ("m1.xlarge", 16384, 160, 8),
)
ALWAYS = ("host",)
DEMO_KEY = "demo"


def plant(docs: Documents, passwords: Mapping[str, str], image_paths: Mapping[str, Path], key_file: Path) -> None:
    """Fill an empty cloud; inside a transaction of the caller."""
    _directory(docs, passwords)
    for number, (name, ram, disk, vcpus) in enumerate(FLAVORS, start=1):
        if not docs.where("flavor", name=name):
            flavors.make(docs, {"id": str(number), "name": name, "ram": ram, "disk": disk, "vcpus": vcpus})
    if not docs.where("volume_type", name=DEFAULT_TYPE):
        kind = new_type({"name": DEFAULT_TYPE, "description": "Default Volume Type"})
        docs.put("volume_type", kind)
    _images(docs, image_paths)
    if docs.get("planted", "networks") is None:
        _networks(docs)
        docs.put("planted", {"id": "networks"})
    _key(docs, key_file)
    default_group(docs, _named(docs, "project", "demo")["id"])


def _named(docs: Documents, kind: str, name: str) -> Doc:
    return docs.where(kind, name=name)[0]


def _directory(docs: Documents, passwords: Mapping[str, str]) -> None:
    for name in ROLES:
        if not docs.where("role", name=name):
            docs.put("role", new_role({"name": name}))
    for name in PROJECTS:
        if not docs.where("project", name=name):
            docs.put("project", new_project({"name": name}))
    for name, (project, roles) in USERS.items():
        ident = _named(docs, "project", project)["id"]
        if not docs.where("user", name=name):
            docs.put("user", new_user({"name": name, "password": passwords[name], "default_project_id": ident}))
        user = _named(docs, "user", name)
        if not is_password(passwords[name], user["password_hash"]):
            docs.change("user", user["id"], password_hash=hash_password(passwords[name]))
        for role in roles:
            grant(docs, user["id"], ident, _named(docs, "role", role)["id"])
    admin = _named(docs, "user", "admin")
    grant(docs, admin["id"], "system", _named(docs, "role", "admin")["id"])
    grant(docs, admin["id"], _named(docs, "project", "demo")["id"], _named(docs, "role", "admin")["id"])


def _images(docs: Documents, paths: Mapping[str, Path]) -> None:
    """Those at hand; of a disk the record says what format it has, whichever it had at an earlier start."""
    owner = _named(docs, "project", "admin")["id"]
    for name in sorted({*paths, *ALWAYS}):
        known = docs.where("image", name=name, builtin=True)
        part = {"name": name, "visibility": "public", "container_format": "bare"}
        image = known[0] if known else make_image(docs, owner, part)
        docs.change("image", image["id"], status="active", builtin=True, **_of_disk(paths.get(name)))


def _of_disk(path: Path | None) -> Doc:
    at_hand = load(path) if path is not None and (path / DESCRIPTION).exists() else None
    if at_hand is None or at_hand.disk is None:
        return {"disk_format": "raw", "properties": {"os_distro": "debian"}, "size": 0}
    size = (at_hand.path / at_hand.disk).stat().st_size
    return {"disk_format": at_hand.disk_format, "properties": dict(at_hand.properties), "size": size, "min_ram": 256}


def _begun(kind_defaults: Mapping[str, object], project: str, **fields: object) -> Doc:
    moment = now()
    return {
        "id": new_id(),
        **kind_defaults,
        "project_id": project,
        "tenant_id": project,
        "tags": [],
        "created_at": moment,
        "updated_at": moment,
        "revision_number": 1,
        **fields,
    }


def _networks(docs: Documents) -> None:
    admin = _named(docs, "project", "admin")["id"]
    demo = _named(docs, "project", "demo")["id"]
    public = docs.put("network", _begun(NETWORK.defaults, admin, name="public", mtu=1500, **{"router:external": True}))
    private = docs.put("network", _begun(NETWORK.defaults, admin, name="private", shared=True))
    pool = [{"start": "172.24.4.2", "end": "172.24.4.254"}]
    outside = _subnet(docs, public, "public-subnet", "172.24.4.0/24", allocation_pools=pool)
    inside = _subnet(docs, private, "private-subnet", "10.0.0.0/24")
    router = docs.put("router", _begun(ROUTER.defaults, demo, name="router1"))
    leg = {"subnet_id": inside["id"], "ip_address": "10.0.0.1"}
    gate = {"subnet_id": outside["id"], "ip_address": "172.24.4.2"}
    _router_port(docs, demo, router, private, INTERFACE, leg)
    _router_port(docs, "", router, public, GATEWAY, gate)
    gateway = {"network_id": public["id"], "external_fixed_ips": [gate], "enable_snat": True}
    docs.change("router", router["id"], external_gateway_info=gateway)


def _subnet(docs: Documents, network: Doc, name: str, cidr: str, **fields: object) -> Doc:
    made = planned({"cidr": cidr, **fields})
    dhcp = not network["router:external"]
    return docs.put(
        "subnet",
        _begun(
            SUBNET.defaults,
            network["project_id"],
            name=name,
            network_id=network["id"],
            enable_dhcp=dhcp,
            shared=network["shared"],
            **made,
        ),
    )


def _router_port(docs: Documents, project: str, router: Doc, network: Doc, owner: str, fixed: Doc) -> None:
    taken = {port["mac_address"] for port in docs.all("port")}
    port = _begun(
        PORT.defaults,
        project,
        network_id=network["id"],
        device_id=router["id"],
        device_owner=owner,
        fixed_ips=[fixed],
        mac_address=random_mac(taken),
        port_security_enabled=False,
        status="ACTIVE",
    )
    docs.put("port", port)


def _key(docs: Documents, key_file: Path) -> None:
    """The key pair of the demo user; its private half lies in the state directory."""
    user = _named(docs, "user", "demo")["id"]
    if docs.get("keypair", keypairs.key_id(user, DEMO_KEY)) is not None and key_file.exists():
        return
    private, public = keypairs.generate()
    key_file.touch(mode=0o600)
    key_file.chmod(0o600)
    key_file.write_text(private)
    docs.drop("keypair", keypairs.key_id(user, DEMO_KEY))
    keypairs.make(docs, user, DEMO_KEY, public)
