"""A stock image in a dev cloud: its user-data calls the tools by the names that Heat's and AWS's templates use."""

import json
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.root]

TEMPLATE = r"""
heat_template_version: 2018-08-31
resources:
  handle: {type: OS::Heat::WaitConditionHandle}
  condition:
    type: OS::Heat::WaitCondition
    properties: {handle: {get_resource: handle}, timeout: 300, count: 2}
  server:
    type: OS::Nova::Server
    metadata:
      AWS::CloudFormation::Init:
        config:
          files:
            /etc/motd-of-mine: {content: "Hello {{name}}\n", context: {name: you}, mode: "000600"}
          commands:
            "01": {command: cat /etc/motd-of-mine >/seen}
    properties:
      image: host
      flavor: m1.small
      networks: [{network: private}]
      user_data:
        str_replace:
          params: {$STACK: {get_param: "OS::stack_name"}}
          template: |
            #!/bin/sh -x
            /opt/aws/bin/cfn-init -s $STACK -r server --region nova
            /usr/bin/cfn-signal -e $? -i first --stack $STACK --resource handle --region nova
            cfn-signal -e 0 --stack $STACK --resource handle
            cat /seen
            cfn-get-metadata -s $STACK -r server -k "AWS::CloudFormation::Init.config.commands"
            cfn-signal -e 0 --stack $STACK --resource nosuch
            exit 0
outputs:
  data: {value: {get_attr: [condition, data]}}
  server: {value: {get_resource: server}}
"""


def test_user_data_of_the_cfntools_format_finds_the_tools_and_its_own_identity(cloud: Any, tmp_path: Path) -> None:
    template = tmp_path / "template.yaml"
    template.write_text(TEMPLATE)
    cloud.openstack("stack", "create", "--wait", "-t", str(template), "tools", limit=400)
    try:
        outputs = cloud.outputs("tools")
        data = outputs["data"] if isinstance(outputs["data"], dict) else json.loads(outputs["data"])
        assert set(data) == {"first", outputs["server"]}, "the default id is the server's own"
        wait = "until grep -q 'Provision done' /var/log/heat-provision.log; do sleep 0.2; done; "
        log = cloud.calor_dev("shell", outputs["server"], "--", "sh", "-c", wait + "cat /var/log/heat-provision.log")
        assert "files: 1 changed, 0 unchanged" in log
        assert "\nHello you\n" in log
        assert '"command": "cat /etc/motd-of-mine >/seen"' in log
        assert "cfn-signal: not delivered: the CloudFormation API answered 40" in log
    finally:
        cloud.openstack("stack", "delete", "--yes", "--wait", "tools")
