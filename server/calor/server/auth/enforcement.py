"""Access rules: oslo.policy over our defaults and the operator's ``policy.yaml``."""

import logging
from typing import Any

from oslo_config import cfg
from oslo_policy import opts, policy

from calor.server.auth.policies import RULES
from calor.server.config import ConfigurationFault
from calor.server.errors import Forbidden, ServiceUnavailable
from calor.server.identity.callers import Caller

log = logging.getLogger(__name__)


class Policy:
    """Says whether a caller may do something in his own project. One per process."""

    def __init__(self, conf: Any) -> None:
        """``conf`` is oslo.config's object (`Settings.raw`); ``[oslo_policy] policy_file`` is read from it.

        Raises `ConfigurationFault` when that file cannot be understood, or is named and not there.
        """
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
        _check_named(conf)
        try:
            self._enforcer.load_rules(force_reload=True)
        except (ValueError, TypeError, AttributeError, OSError, cfg.Error) as exc:
            raise ConfigurationFault(
                f"The access rules in {conf.oslo_policy.policy_file} cannot be read: {exc}"
            ) from exc

    def may(self, caller: Caller, rule: str) -> bool:
        """``rule`` is a name of `policies.RULES`. An edit that broke the file while we run refuses everything."""
        target = {"project_id": caller.project_id, "tenant": caller.project_id}
        try:
            return bool(self._enforcer.authorize(rule, target, _credentials(caller)))
        except policy.InvalidScope:
            return False
        except (ValueError, TypeError) as exc:
            log.exception("the access rules cannot be read")
            raise ServiceUnavailable(
                "The server's access rules cannot be read; its administrator must mend them."
            ) from exc

    def require(self, caller: Caller, rule: str) -> None:
        """Raises `Forbidden` unless the caller may."""
        if not self.may(caller, rule):
            raise Forbidden(f"You are not allowed to do this here: the rule {rule} refuses it for your roles.")


def _check_named(conf: Any) -> None:
    """oslo.policy passes over a file that is not there in silence: an operator's rules would not hold."""
    defaults = {option.name: option.default for _, options in opts.list_opts() for option in options}
    named = conf.oslo_policy.policy_file
    if named != defaults["policy_file"] and not conf.find_file(named):
        raise ConfigurationFault(f"[oslo_policy] policy_file = {named} does not exist.")


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
