"""The tools of heat-cfntools, unmodified, in a server of the HEAT_CFNTOOLS format, against our CloudFormation API; and
ours in the same place with the same user-data."""

import json
from typing import Any

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.root]

USER_DATA = r"""#!/bin/sh
cfn-init || exit 9
mkdir -p /etc/cfn
umask 077
printf 'AWSAccessKeyId=%s\nAWSSecretKey=%s\n' ACCESS SECRET >/etc/cfn/cfn-credentials
cat >/etc/cfn/cfn-hup.conf <<END
[main]
stack=STACK
credential-file=/etc/cfn/cfn-credentials
region=heat
END
cat >/etc/cfn/hooks.conf <<END
[watch]
triggers=post.update
path=Resources.watched.Metadata
runas=root
action=echo changed >>/root/passes
END
cfn-signal -e 0 -r 'by cfn-signal' -d "`cat /srv/by-cfn-init`" -i me 'URL'
"""
INIT = {"config": {"files": {"/srv/by-cfn-init": {"content": "made by cfn-init", "mode": "000640"}}}}


def template(image: str, version: str) -> dict[str, Any]:
    params = {
        "URL": {"get_attr": ["handle", "endpoint"]},
        "STACK": {"get_param": "OS::stack_name"},
        "ACCESS": {"get_attr": ["watched", "os_collect_config", "cfn", "access_key_id"]},
        "SECRET": {"get_attr": ["watched", "os_collect_config", "cfn", "secret_access_key"]},
    }
    server = {
        "image": image,
        "flavor": "m1.small",
        "networks": [{"network": "private"}],
        "user_data_format": "HEAT_CFNTOOLS",
        "user_data": {"str_replace": {"template": USER_DATA, "params": params}},
    }
    waits = {"handle": {"get_resource": "handle"}, "timeout": 200}
    watched = {"software_config_transport": "POLL_SERVER_CFN"}
    resources = {
        "handle": {"type": "OS::Heat::WaitConditionHandle", "properties": {"signal_transport": "CFN_SIGNAL"}},
        "condition": {"type": "OS::Heat::WaitCondition", "properties": waits},
        "watched": {
            "type": "OS::Heat::DeployedServer",
            "metadata": {"version": version, "text": "hallö"},
            "properties": watched,
        },
        "server": {
            "type": "OS::Nova::Server",
            "metadata": {"AWS::CloudFormation::Init": INIT},
            "properties": server,
        },
    }
    outputs = {
        "data": {"value": {"get_attr": ["condition", "data"]}},
        "server": {"value": {"get_resource": "server"}},
        "access": {"value": params["ACCESS"]},
        "secret": {"value": params["SECRET"]},
    }
    return {"resources": resources, "outputs": outputs}


@pytest.mark.parametrize("image", ["openstack-agents", "host"])
def test_init_signal_get_metadata_and_hup(cloud: Any, stack: Any, image: str) -> None:
    found = stack("tools", template(image, "one"))
    data = found["data"] if isinstance(found["data"], dict) else json.loads(found["data"])
    assert data == {"me": "made by cfn-init"}

    def inside(command: str) -> str:
        return str(cloud.calor_dev("shell", found["server"], "--", "/bin/sh", "-c", command))

    keys = f"--access-key {found['access']} --secret-key {found['secret']}"
    asked = inside(f"cfn-get-metadata -s tools -r watched -k text {keys} 2>/dev/null")
    assert json.loads(asked) == "hallö"
    passes = "cfn-hup >/dev/null; cat /root/passes 2>/dev/null; true"
    first = inside(passes).count("changed")
    assert inside(passes).count("changed") == first, "nothing has changed: no action"
    stack("tools", template(image, "two"))
    assert inside(passes).count("changed") == first + 1


BOOT = r"""#!/bin/sh
cfn-init || exit 9
cfn-signal -e 0 -r 'first' -d "`cat /srv/by-cfn-init`" -i one 'URL'
cfn-signal -s true -i two 'URL'
"""


def in_hot(image: str) -> dict[str, Any]:
    """CloudFormation's conditions in a HOT template, a server of Nova's."""
    params = {"URL": {"get_resource": "Handle"}}
    server = {
        "image": image,
        "flavor": "m1.small",
        "networks": [{"network": "private"}],
        "user_data": {"str_replace": {"template": BOOT, "params": params}},
    }
    waits = {"Handle": {"get_resource": "Handle"}, "Timeout": 200, "Count": 2}
    return {
        "resources": {
            "Handle": {"type": "AWS::CloudFormation::WaitConditionHandle"},
            "Condition": {"type": "AWS::CloudFormation::WaitCondition", "properties": waits},
            "Server": {
                "type": "OS::Nova::Server",
                "metadata": {"AWS::CloudFormation::Init": INIT},
                "properties": server,
            },
        },
        "outputs": {"data": {"value": {"get_attr": ["Condition", "Data"]}}},
    }


def in_cfn(image: str) -> dict[str, Any]:
    """All of it in the format of CloudFormation."""
    values = {"URL": {"Ref": "Handle"}}
    server = {"ImageId": image, "InstanceType": "m1.small", "UserData": {"Fn::Replace": [values, BOOT]}}
    waits = {"Handle": {"Ref": "Handle"}, "Timeout": "200", "Count": "2"}
    return {
        "HeatTemplateFormatVersion": "2012-12-12",
        "Resources": {
            "Handle": {"Type": "AWS::CloudFormation::WaitConditionHandle"},
            "Condition": {"Type": "AWS::CloudFormation::WaitCondition", "Properties": waits},
            "Server": {
                "Type": "AWS::EC2::Instance",
                "Metadata": {"AWS::CloudFormation::Init": INIT},
                "Properties": {**server, "SubnetId": "private-subnet"},
            },
        },
        "Outputs": {"data": {"Value": {"Fn::GetAtt": ["Condition", "Data"]}}},
    }


@pytest.mark.parametrize("image", ["openstack-agents", "host"])
@pytest.mark.parametrize("written", [in_hot, in_cfn])
def test_init_and_signals_to_a_handle_of_cloudformations(stack: Any, image: str, written: Any) -> None:
    """heat-cfntools' in the one image, ours in the other; the URL is what ``Ref`` gives."""
    found = stack("conditions", written(image))
    data = found["data"] if isinstance(found["data"], dict) else json.loads(found["data"])
    assert data["one"] == "made by cfn-init"
    assert set(data) == {"one", "two"}
