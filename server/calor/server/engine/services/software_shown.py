"""Software configs and deployments as users read them: what is secret is masked. Agents read elsewhere, in clear."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from calor.server.engine.contract.views import ConfigView, DeploymentView
from calor.server.engine.guests import masking
from calor.server.engine.guests.masking import Masker
from calor.server.engine.guests.run_secrets import CREDENTIALS
from calor.server.engine.reconcile.tools import Tools
from calor.server.engine.services.presenting import HIDDEN
from calor.server.engine.services.run_viewing import hidden
from calor.server.resources.base import Config
from calor.server.store import guest_queries
from calor.server.store.rows import ConfigRow, DeploymentRow
from calor.server.template import has_secret, mask

DERIVED = "deploy_resource_name"
"""An input that configs have which a stack's deployment made of the user's."""


class Shown:
    def __init__(self, tools: Tools) -> None:
        self._tools = tools

    async def deployment(self, row: DeploymentRow) -> DeploymentView:
        masker, given = await self._tools.secrets.of(row), await self._tools.secrets.given(row)
        value = self._tools.deployments.value(row)
        return DeploymentView(
            id=row.id,
            server_id=row.server_id,
            config_id=row.config_id,
            action=row.action,
            status=row.status,
            status_reason=masker.text(row.status_reason),
            input_values={name: _input(name, one, given, masker) for name, one in value.input_values.items()},
            output_values=hidden(value.output_values, masker),
            created_at=row.created_at,
            updated_at=row.updated_at,
        )

    async def config(self, row: ConfigRow) -> ConfigView:
        """A config is shown as it was given but for the secrets that a template put into it; one that was derived for
        a deployment has its inputs filled in, which are masked too. Where its deployment has another by now nobody
        knows what is secret in it."""
        config, view = self._tools.configs.opened(row), self._tools.configs.view(row)
        if not any(one.get("name") == DERIVED for one in view.inputs):
            return self._without(view, config, Masker(config.secrets))
        rows = await guest_queries.deployments(self._tools.database, config_id=view.id, on_demand=True)
        if not rows:
            return replace(view, config=HIDDEN, inputs=[{**one, "value": HIDDEN} for one in view.inputs])
        masker, given = await self._tools.secrets.of(rows[0]), await self._tools.secrets.given(rows[0])
        inputs = [
            {
                key: _input(str(one["name"]), part, given, masker) if key == "value" else part
                for key, part in one.items()
            }
            for one in view.inputs
        ]
        return self._without(replace(view, inputs=inputs), config, masker)

    def _without(self, view: ConfigView, config: Config, masker: Masker) -> ConfigView:
        def shown(tree: Any) -> Any:
            return masking.without(tree, config.secrets, masker)

        text = HIDDEN if config.is_secret else shown(view.config)
        return replace(view, config=text, inputs=shown(view.inputs), options=shown(view.options))


def _input(name: str, value: Any, given: Mapping[str, Any], masker: Masker) -> Any:
    if name in CREDENTIALS or has_secret(value):
        return HIDDEN
    if has_secret(given.get(name)):
        return mask(given[name], HIDDEN)
    return hidden({name: value}, masker)[name]
