"""What must not be seen in the output of a run: the hidden values that went into it."""

import logging
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from calor.server.engine.durable.sealing import Sealing
from calor.server.engine.guests.inventory import StoredConfigs
from calor.server.engine.guests.masking import Masker
from calor.server.engine.revision.revisions import Blueprints
from calor.server.errors import CalorError
from calor.server.identity import SealBroken
from calor.server.store import queries
from calor.server.store.database import Database
from calor.server.store.rows import DeploymentRow, ResourceRow, StackRow
from calor.server.template import secret_leaves

log = logging.getLogger(__name__)

CREDENTIALS = frozenset({"deploy_password", "deploy_signal_id", "ansible_vault_password"})
"""Inputs that are secret whatever the template says."""
KEPT = 512


class RunSecrets:
    def __init__(self, database: Database, sealing: Sealing, configs: StoredConfigs, blueprints: Blueprints) -> None:
        self._database = database
        self._sealing = sealing
        self._configs = configs
        self._blueprints = blueprints
        self._kept: OrderedDict[str, Masker] = OrderedDict()

    def known(self, run_id: str) -> Masker | None:
        return self._kept.get(run_id)

    async def of(self, row: DeploymentRow) -> Masker:
        """Kept for a run, whose config never changes, once its resource's physical id is durable: until then what the
        resource was given is not to be found."""
        known = self._kept.get(row.run_id)
        if known is not None:
            return known
        resource = await queries.resource_by_physical_id(self._database, row.project_id, row.source_id or row.id)
        masker = Masker(await self._texts(row, resource))
        if resource is not None or row.stack_id is None:
            self._kept[row.run_id] = masker
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return masker

    async def given(self, row: DeploymentRow) -> Mapping[str, Any]:
        """The input values as the template gives them to the resource: secrets still are such."""
        return self._given(
            await queries.resource_by_physical_id(self._database, row.project_id, row.source_id or row.id)
        )

    def _given(self, resource: ResourceRow | None) -> Mapping[str, Any]:
        if resource is None:
            return {}
        try:
            properties = self._sealing.value(resource.pending or resource.properties) or {}
        except SealBroken:
            log.warning("the properties of a deployment cannot be read", extra={"resource": resource.name})
            return {}
        return properties.get("input_values") or {}

    async def _texts(self, row: DeploymentRow, resource: ResourceRow | None) -> list[str]:
        config = await self._configs.get(row.project_id, row.config_id)
        inputs = config.inputs if config is not None else ()
        texts = [str(one.get("value")) for one in inputs if one.get("name") in CREDENTIALS and one.get("value")]
        texts += config.secrets if config is not None else ()
        texts += secret_leaves(self._sealing.value(row.values)["inputs"])
        texts += secret_leaves(self._given(resource))
        ident = resource.stack_id if resource is not None else row.stack_id
        while ident is not None and (stack := await queries.stack(self._database, ident)) is not None:
            texts += await self._parameters(stack)
            ident = stack.owner_id
        return texts

    async def _parameters(self, stack: StackRow) -> list[str]:
        """The hidden parameters of a stack: scripts hold them without being inputs."""
        try:
            blueprint = await self._blueprints.of(stack, stack.revision_id)
        except (CalorError, LookupError, SealBroken):
            log.warning("the parameters of a stack cannot be read", exc_info=True, extra={"stack": stack.id})
            return []
        return secret_leaves([parameter.value for parameter in blueprint.model.parameters.values()])
