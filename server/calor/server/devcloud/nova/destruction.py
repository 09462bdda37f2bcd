"""What becomes of a server's ports and volumes when it lets go of them. Inside a transaction of the caller."""

from calor.server.devcloud.calls import now_micro
from calor.server.devcloud.documents import Doc, Documents
from calor.server.devcloud.tasks import enqueue


def forget_server(docs: Documents, server: Doc) -> None:
    """Ports that Nova made go with it, others are free again; so are its volumes."""
    for port in docs.where("port", device_id=server["id"]):
        unbind(docs, server, port)
    for attachment in docs.where("attachment", server_id=server["id"]):
        release_volume(docs, attachment)
        if attachment["delete_on_termination"]:
            docs.change("volume", attachment["volume_id"], status="deleting")
            enqueue(docs, f"volume:{attachment['volume_id']}", "delete_volume")
    docs.drop("server", server["id"])


def unbind(docs: Documents, server: Doc, port: Doc) -> None:
    if port["id"] in server["own_ports"]:
        for floating in docs.where("floatingip", port_id=port["id"]):
            docs.change("floatingip", floating["id"], port_id=None, router_id=None, fixed_ip_address=None)
        docs.drop("port", port["id"])
    else:
        docs.change("port", port["id"], device_id="", device_owner="", status="DOWN")
    if docs.get("server", server["id"]) is not None:
        rest = [ident for ident in server["port_ids"] if ident != port["id"]]
        docs.change("server", server["id"], port_ids=rest)


def release_volume(docs: Documents, attachment: Doc) -> None:
    docs.drop("attachment", attachment["id"])
    if docs.get("volume", attachment["volume_id"]) is not None:
        docs.change("volume", attachment["volume_id"], status="available", updated_at=now_micro())
