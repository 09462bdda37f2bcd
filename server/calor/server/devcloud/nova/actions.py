"""``/servers/{id}/action``."""

import binascii
from collections.abc import Callable
from typing import Any

from aiohttp import web

from calor.server.devcloud.access import ApiError
from calor.server.devcloud.calls import Answer, Call, Route
from calor.server.devcloud.documents import Doc
from calor.server.devcloud.driver import DriverError
from calor.server.devcloud.nova import flavors
from calor.server.devcloud.nova.server_creation import check_metadata, check_user_data, find_group
from calor.server.devcloud.nova.server_views import detail, touched
from calor.server.devcloud.nova.servers import find
from calor.server.devcloud.tasks import enqueue
from calor.server.devcloud.wiring import server_ports

Action = Callable[[Call, Doc, Any], Any]


def require(server: Doc, action: str, *vm_states: str) -> None:
    """Refuse an action that the state does not allow, as Nova words it."""
    if server["task_state"] is not None:
        raise ApiError(
            409, f"Cannot '{action}' instance {server['id']} while it is in task_state {server['task_state']}"
        )
    if server["vm_state"] not in vm_states:
        raise ApiError(409, f"Cannot '{action}' instance {server['id']} while it is in vm_state {server['vm_state']}")


def begin(call: Call, server: Doc, task_state: str, what: str, **arguments: Any) -> Doc:
    """The server is busy with ``task_state`` from this answer on."""
    server = call.docs.put("server", touched(server, task_state=task_state))
    enqueue(call.docs, f"server:{server['id']}", what, **arguments)
    return server


def start(call: Call, server: Doc, _: Any) -> Answer:
    require(server, "start", "stopped")
    begin(call, server, "powering-on", "power_on")
    return Answer(status=202)


def stop(call: Call, server: Doc, _: Any) -> Answer:
    require(server, "stop", "active", "error")
    begin(call, server, "powering-off", "power_off")
    return Answer(status=202)


def suspend(call: Call, server: Doc, _: Any) -> Answer:
    require(server, "suspend", "active")
    begin(call, server, "suspending", "freeze", vm_state="suspended")
    return Answer(status=202)


def resume(call: Call, server: Doc, _: Any) -> Answer:
    require(server, "resume", "suspended")
    begin(call, server, "resuming", "thaw")
    return Answer(status=202)


def pause(call: Call, server: Doc, _: Any) -> Answer:
    require(server, "pause", "active")
    begin(call, server, "pausing", "freeze", vm_state="paused")
    return Answer(status=202)


def unpause(call: Call, server: Doc, _: Any) -> Answer:
    require(server, "unpause", "paused")
    begin(call, server, "unpausing", "thaw")
    return Answer(status=202)


def reboot(call: Call, server: Doc, body: Any) -> Answer:
    kind = str((body or {}).get("type", "")).upper()
    if kind not in ("SOFT", "HARD"):
        raise ApiError(400, f"Invalid input for field/attribute type. Value: {kind}. 'SOFT' or 'HARD' is expected")
    if kind == "SOFT":
        require(server, "reboot", "active")
    else:
        require(server, "reboot", "active", "stopped", "error", "paused")
    begin(call, server, "rebooting" if kind == "SOFT" else "rebooting_hard", "reboot", hard=kind == "HARD")
    return Answer(status=202)


def rebuild(call: Call, server: Doc, body: Any) -> Answer:
    require(server, "rebuild", "active", "stopped", "error")
    image = call.docs.get("image", str((body or {}).get("imageRef", "")).rpartition("/")[2])
    if image is None:
        raise ApiError(400, "Cannot find image for rebuild")
    fields: Doc = {"image_id": image["id"], "boot_image_id": image["id"]}
    if body.get("name"):
        fields["name"] = body["name"]
    if "metadata" in body:
        fields["metadata"] = check_metadata(body["metadata"])
    if "user_data" in body:
        fields["user_data"] = check_user_data(body["user_data"])
    if "description" in body:
        fields["description"] = body["description"]
    fields["admin_pass"] = body.get("adminPass") or server["admin_pass"]
    stopped = server["vm_state"] == "stopped"
    server = call.docs.put("server", {**server, **fields})
    server = begin(call, server, "rebuilding", "rebuild", stopped=stopped)
    return Answer(body={"server": {**detail(call, server), "adminPass": server["admin_pass"]}}, status=202)


def resize(call: Call, server: Doc, body: Any) -> Answer:
    require(server, "resize", "active", "stopped")
    ident = str((body or {}).get("flavorRef", "")).rpartition("/")[2]
    try:
        flavor = flavors.find(call.docs, ident)
    except ApiError as exc:
        raise ApiError(400, exc.message) from exc
    if flavor["id"] == server["flavor"]["id"]:
        raise ApiError(400, "When resizing, instances must change flavor!")
    if flavor["disk"] < server["flavor"]["disk"] and flavor["disk"] == 0:
        raise ApiError(400, "Flavor disk cannot be smaller than the image's.")
    begin(call, server, "resize_prep", "resize", flavor=flavor["id"], stopped=server["vm_state"] == "stopped")
    return Answer(status=202)


def confirm_resize(call: Call, server: Doc, _: Any) -> Answer:
    require(server, "confirmResize", "resized")
    state = "stopped" if server.get("was_stopped") else "active"
    call.docs.put("server", touched(server, vm_state=state, old_flavor=None))
    return Answer(status=204)


def revert_resize(call: Call, server: Doc, _: Any) -> Answer:
    require(server, "revertResize", "resized")
    begin(call, server, "resize_reverting", "revert")
    return Answer(status=202)


def add_group(call: Call, server: Doc, body: Any) -> Answer:
    group = find_group(call, str((body or {}).get("name")), 404)
    for port in server_ports(call.docs, server):
        if port["port_security_enabled"] and group["id"] not in port["security_groups"]:
            call.docs.change("port", port["id"], security_groups=[*port["security_groups"], group["id"]])
    return Answer(status=202)


def remove_group(call: Call, server: Doc, body: Any) -> Answer:
    group = find_group(call, str((body or {}).get("name")), 404)
    held = [port for port in server_ports(call.docs, server) if group["id"] in port["security_groups"]]
    if not held:
        raise ApiError(404, f"Security group {group['name']} not associated with the instance {server['id']}")
    for port in held:
        rest = [ident for ident in port["security_groups"] if ident != group["id"]]
        call.docs.change("port", port["id"], security_groups=rest)
    return Answer(status=202)


def _locker(locked: bool) -> Action:
    def lock(call: Call, server: Doc, _: Any) -> Answer:
        call.docs.put("server", touched(server, locked=locked))
        return Answer(status=202)

    return lock


def reset_state(call: Call, server: Doc, body: Any) -> Answer:
    if not call.token.is_admin:
        raise ApiError(403, "Policy doesn't allow os_compute_api:os-admin-actions:reset_state to be performed.")
    state = (body or {}).get("state")
    if state not in ("active", "error"):
        raise ApiError(400, f"Invalid input for field/attribute state. Value: {state}.")
    call.docs.put("server", touched(server, vm_state=state, task_state=None))
    return Answer(status=202)


def change_password(call: Call, server: Doc, body: Any) -> Answer:
    require(server, "changePassword", "active")
    raise ApiError(409, "Unable to set the password of an instance of the dev cloud.")


ACTIONS: dict[str, Action] = {
    "os-start": start,
    "os-stop": stop,
    "suspend": suspend,
    "resume": resume,
    "pause": pause,
    "unpause": unpause,
    "reboot": reboot,
    "rebuild": rebuild,
    "resize": resize,
    "confirmResize": confirm_resize,
    "revertResize": revert_resize,
    "addSecurityGroup": add_group,
    "removeSecurityGroup": remove_group,
    "lock": _locker(True),
    "unlock": _locker(False),
    "os-resetState": reset_state,
    "changePassword": change_password,
}


async def act(call: Call) -> web.StreamResponse:
    """Asynchronous for the console's sake; everything else is decided in one transaction."""
    try:
        body = await call.request.json()
    except (ValueError, binascii.Error) as exc:
        raise ApiError(400, "Malformed request body") from exc
    if not isinstance(body, dict) or len(body) != 1:
        raise ApiError(400, "Exactly one action is expected.")
    ((name, argument),) = body.items()
    if name == "os-getConsoleOutput":
        return await _console(call, argument)
    if name not in ACTIONS:
        raise ApiError(400, f"There is no such action: {name}")
    with call.docs.transaction():
        answer = ACTIONS[name](call, find(call, call.path["id"]), argument)
    if answer.body is None:
        return web.Response(status=answer.status)
    return web.json_response(answer.body, status=answer.status)


async def _console(call: Call, argument: Any) -> web.Response:
    server = find(call, call.path["id"])
    if server["vm_state"] == "building":
        raise ApiError(409, f"Instance {server['id']} is not ready")
    length = (argument or {}).get("length")
    try:
        lines = None if length in (None, "", -1, "-1") else int(length)
        output = await call.cloud.driver.console(server["id"], lines)
    except ValueError as exc:
        raise ApiError(400, f"Invalid input for field/attribute length. Value: {length}.") from exc
    except DriverError as exc:
        raise ApiError(409, str(exc)) from exc
    return web.json_response({"output": output})


ROUTES = (Route(method="POST", path="/v2.1/servers/{id}/action", handler=act, stream=True),)
