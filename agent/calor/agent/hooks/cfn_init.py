"""Group ``cfn-init``: the config is the content of ``AWS::CloudFormation::Init``."""

import json
import os
from typing import Optional

from calor.agent import launching
from calor.agent.hooks import contract


class CfnInit(contract.Hook):
    """Writes the metadata where cfn-init looks for it and runs our cfn-init (or ``$HEAT_CFN_INIT_CMD``)."""

    group = "cfn-init"

    def prepare(self, job: contract.Job) -> Optional[contract.Command]:
        config = contract.as_document(job, self.group)
        if not config:
            return None
        folder = job.places.heat(job.environment, "HEAT_CFN_INIT_LAST_METADATA_DIR", "/var/cache/heat-cfntools")
        os.makedirs(folder, mode=0o700, exist_ok=True)
        path = os.path.join(folder, "last_metadata")
        document = config if "AWS::CloudFormation::Init" in config else {"AWS::CloudFormation::Init": config}
        contract.write_private(path, json.dumps(document).encode("utf-8"))
        environment = contract.base_environment(job.environment)
        if job.places.root != "/":
            environment["CALOR_ROOT"] = job.places.root
        named = job.environment.get("HEAT_CFN_INIT_CMD")
        return contract.Command([named] if named else launching.command("cfn-init", path), environment)
