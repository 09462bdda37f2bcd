"""Access rules: oslo.policy over our defaults and the operator's ``policy.yaml``."""

from typing import Any

from oslo_policy import policy

from calor.server.auth.policies import RULES
from calor.server.errors import Forbidden
from calor.server.identity.callers import Caller


class Policy:
    """Says whether a caller may do something in his own project. One per process."""

    def __init__(self, conf: Any) -> None:
        """``conf`` is oslo.config's object (`Settings.raw`); ``[oslo_policy] policy_file`` is read from it."""
        self._enforcer = policy.Enforcer(conf)
        self._enforcer.suppress_default_change_warnings = True
        self._enforcer.register_defaults(
            [
                policy.RuleDefault(
                    rule.name, rule.check, description=rule.description, scope_types=list(rule.scopes) or None
                )
                for rule in RULES
            ]
        )

    def may(self, caller: Caller, rule: str) -> bool:
        """``rule`` is a name of `policies.RULES`."""
        target = {"project_id": caller.project_id, "tenant": caller.project_id}
        try:
            return bool(self._enforcer.authorize(rule, target, _credentials(caller)))
        except policy.InvalidScope:
            return False

    def require(self, caller: Caller, rule: str) -> None:
        """Raises `Forbidden` unless the caller may."""
        if not self.may(caller, rule):
            raise Forbidden(f"You are not allowed to do this here: the rule {rule} refuses it for your roles.")


def _credentials(caller: Caller) -> dict[str, Any]:
    return {
        "user_id": caller.user_id,
        "project_id": caller.project_id,
        "tenant": caller.project_id,
        "roles": sorted(caller.roles),
        "is_admin": caller.is_admin,
        "is_admin_project": caller.is_admin,
        "system_scope": "all" if caller.system_scope else None,
    }
