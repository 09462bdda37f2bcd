"""Who may do what by default. Rule names and checks are Heat's (api-routes.json, ``policy_rules``)."""

from dataclasses import dataclass

READER = "role:reader and project_id:%(project_id)s"
MEMBER = "role:member and project_id:%(project_id)s"
ADMIN = "role:admin and project_id:%(project_id)s"
READER_OR_GUEST = f"({READER}) or (role:heat_stack_user and project_id:%(project_id)s)"
_PROJECT = ("project",)
_ANY_SCOPE: tuple[str, ...] = ()


@dataclass(frozen=True)
class Rule:
    """A default that ``policy.yaml`` can override. ``scopes`` empty: any scope."""

    name: str
    check: str
    description: str
    scopes: tuple[str, ...] = _PROJECT


BASE = (
    Rule("context_is_admin", "(role:admin and is_admin_project:True)", "Who is the cloud's administrator.", _ANY_SCOPE),
    Rule("project_admin", "role:admin", "Who administers a project.", _ANY_SCOPE),
    Rule("deny_stack_user", "not role:heat_stack_user", "Everybody but users inside instances.", _ANY_SCOPE),
    Rule("deny_everybody", "!", "Nobody.", _ANY_SCOPE),
    Rule("allow_everybody", "", "Everybody with a valid token.", _ANY_SCOPE),
)

ACTIONS = (
    Rule("actions:action", MEMBER, "Act on a stack."),
    Rule("actions:snapshot", MEMBER, "Take a snapshot of a stack by an action."),
    Rule("actions:suspend", MEMBER, "Suspend a stack."),
    Rule("actions:resume", MEMBER, "Resume a suspended stack."),
    Rule("actions:check", READER, "Compare a stack's resources with the cloud."),
    Rule("actions:cancel_update", MEMBER, "Cancel an update and roll back."),
    Rule("actions:cancel_without_rollback", MEMBER, "Cancel an operation and leave the stack as it is."),
)

CLOUDFORMATION = (
    Rule("cloudformation:ListStacks", READER, "CloudFormation API: list stacks."),
    Rule("cloudformation:CreateStack", MEMBER, "CloudFormation API: create a stack."),
    Rule("cloudformation:DescribeStacks", READER, "CloudFormation API: show stacks."),
    Rule("cloudformation:DeleteStack", MEMBER, "CloudFormation API: delete a stack."),
    Rule("cloudformation:UpdateStack", MEMBER, "CloudFormation API: update a stack."),
    Rule("cloudformation:CancelUpdateStack", MEMBER, "CloudFormation API: cancel an update."),
    Rule("cloudformation:DescribeStackEvents", READER, "CloudFormation API: list events."),
    Rule("cloudformation:ValidateTemplate", READER, "CloudFormation API: validate a template."),
    Rule("cloudformation:GetTemplate", READER, "CloudFormation API: show a stack's template."),
    Rule("cloudformation:EstimateTemplateCost", READER, "CloudFormation API: estimate the cost of a template."),
    Rule("cloudformation:DescribeStackResource", READER_OR_GUEST, "CloudFormation API: show a resource."),
    Rule("cloudformation:DescribeStackResources", READER, "CloudFormation API: show the resources of a stack."),
    Rule("cloudformation:ListStackResources", READER, "CloudFormation API: list the resources of a stack."),
)

RESOURCES = (
    Rule("resource:index", READER, "List the resources of a stack."),
    Rule("resource:show", READER, "Show a resource."),
    Rule("resource:metadata", READER_OR_GUEST, "Read the metadata of a resource."),
    Rule("resource:signal", READER_OR_GUEST, "Signal a resource."),
    Rule("resource:mark_unhealthy", MEMBER, "Mark a resource as unhealthy, or as healthy again."),
    Rule("events:index", READER, "List events."),
    Rule("events:show", READER, "Show an event."),
)

SOFTWARE = (
    Rule("software_configs:global_index", "rule:deny_everybody", "List the configs of all projects.", _ANY_SCOPE),
    Rule("software_configs:index", READER, "List configs."),
    Rule("software_configs:create", MEMBER, "Create a config."),
    Rule("software_configs:show", READER, "Show a config."),
    Rule("software_configs:delete", MEMBER, "Delete a config."),
    Rule("software_deployments:index", READER, "List deployments."),
    Rule("software_deployments:create", MEMBER, "Create a deployment."),
    Rule("software_deployments:show", READER, "Show a deployment."),
    Rule("software_deployments:update", MEMBER, "Update a deployment."),
    Rule("software_deployments:delete", MEMBER, "Delete a deployment."),
    Rule("software_deployments:metadata", READER_OR_GUEST, "Read the deployments of a server."),
)

STACKS = (
    Rule("stacks:index", READER, "List stacks."),
    Rule("stacks:global_index", "rule:deny_everybody", "List the stacks of all projects.", _ANY_SCOPE),
    Rule("stacks:detail", READER, "List stacks with details."),
    Rule("stacks:create", MEMBER, "Create a stack."),
    Rule("stacks:preview", READER, "Preview a stack."),
    Rule("stacks:lookup", READER_OR_GUEST, "Find a stack by its name."),
    Rule("stacks:show", READER, "Show a stack."),
    Rule("stacks:template", READER, "Show a stack's template."),
    Rule("stacks:environment", READER, "Show a stack's environment."),
    Rule("stacks:files", READER, "Show a stack's files."),
    Rule("stacks:update", MEMBER, "Update a stack."),
    Rule("stacks:update_patch", MEMBER, "Update parts of a stack."),
    Rule("stacks:update_no_change", "rule:stacks:update_patch", "Update a stack with what it has already."),
    Rule("stacks:preview_update", MEMBER, "Preview an update."),
    Rule("stacks:preview_update_patch", MEMBER, "Preview an update of parts."),
    Rule("stacks:delete", MEMBER, "Delete a stack."),
    Rule("stacks:abandon", MEMBER, "Abandon a stack: forget it and keep its resources."),
    Rule("stacks:export", MEMBER, "Export a stack's data."),
    Rule("stacks:list_outputs", READER, "List a stack's outputs."),
    Rule("stacks:show_output", READER, "Show an output."),
    Rule("stacks:snapshot", MEMBER, "Take a snapshot."),
    Rule("stacks:list_snapshots", READER, "List snapshots."),
    Rule("stacks:show_snapshot", READER, "Show a snapshot."),
    Rule("stacks:delete_snapshot", MEMBER, "Delete a snapshot."),
    Rule("stacks:restore_snapshot", MEMBER, "Restore a snapshot."),
)

CATALOGUE = (
    Rule("stacks:validate_template", MEMBER, "Validate a template."),
    Rule("stacks:list_resource_types", READER, "List resource types."),
    Rule("stacks:resource_schema", READER, "Show a resource type's schema."),
    Rule("stacks:generate_template", MEMBER, "Make a template for a resource type."),
    Rule("stacks:list_template_versions", READER, "List template versions."),
    Rule("stacks:list_template_functions", READER, "List a template version's functions."),
    Rule("build_info:build_info", READER, "Show the version of the server."),
    Rule("service:index", ADMIN, "List the engines."),
)

HEATS = (*BASE, *ACTIONS, *CLOUDFORMATION, *RESOURCES, *SOFTWARE, *STACKS, *CATALOGUE)

OWN = (
    Rule("stacks:progress", READER, "Show what goes on inside the instances of a stack."),
    Rule("stacks:plan", MEMBER, "Plan an update or a creation."),
    Rule("stacks:logs", READER, "Read what deployments print."),
    Rule("software_deployments:cancel", MEMBER, "End a deployment that runs."),
    Rule("software_deployments:run", MEMBER, "Run a deployment's config on demand."),
    Rule("software_deployments:runs", READER, "List the runs on demand of a deployment."),
)
"""Of what Heat does not have."""

RULES = (*HEATS, *OWN)
