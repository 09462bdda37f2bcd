"""Every option of the server, by section of ``calor.conf``. Names and defaults are Heat's where Heat has the option."""

from dataclasses import dataclass

from calor.server.config.declare import option

_TRANSPORTS = ("POLL_SERVER_CFN", "POLL_SERVER_HEAT", "POLL_TEMP_URL", "ZAQAR_MESSAGE")
_SIGNALS = ("CFN_SIGNAL", "TEMP_URL_SIGNAL", "HEAT_SIGNAL", "ZAQAR_SIGNAL")
_FORMATS = ("HEAT_CFNTOOLS", "RAW", "SOFTWARE_CONFIG")


@dataclass(frozen=True, kw_only=True)
class General:
    """[DEFAULT]"""

    state_dir: str = option(
        "/var/lib/calor", "Folder of the key file and, unless [database] says otherwise, the database."
    )
    encryption_key_file: str = option(
        "", "File of the keys that sign URLs and seal secrets (mode 0600). Made when missing. Default: STATE_DIR/keys."
    )
    debug: bool = option(False, "Log at level DEBUG.")
    log_format: str = option("text", "How log lines are written.", choices=("text", "json"))
    log_file: str = option("", "File for the log instead of standard error. It is made with mode 0640.")

    server_guest_url: str = option(
        "", "Base URL of the orchestration listener as *instances* reach it, e.g. https://heat.example:8004."
    )
    heat_metadata_server_url: str = option(
        "", "Base URL of the CFN listener as instances reach it for metadata, e.g. http://heat.example:8000."
    )
    heat_waitcondition_server_url: str = option(
        "",
        "Base URL of signals and wait conditions as instances reach it; a path from /v1 on is left out. "
        "Default: heat_metadata_server_url.",
    )
    guest_object_store_url: str = option(
        "",
        "Scheme, host and port of the object store as instances reach it, for TempURLs, e.g. https://swift.example. "
        "Default: as the catalog says.",
    )
    guest_ca_file: str = option(
        "",
        "Certificates (PEM) of the private authority that signs this server's, for the agent inside instances. "
        "Default: what the image trusts.",
    )
    allow_loopback_guest_urls: bool = option(
        False,
        "Accept guest-facing URLs on loopback addresses, which no instance can reach: for tests without instances.",
    )
    region_name_for_services: str | None = option(None, "Region in which the services of stacks are looked up.")
    region_name_for_shared_services: str | None = option(
        None,
        "Region of services that all regions share (Keystone).",
        idle="Keystone is looked for in [keystone_authtoken] region_name.",
    )

    default_software_config_transport: str = option(
        "POLL_SERVER_CFN", "How instances get deployments unless the template says.", choices=_TRANSPORTS
    )
    default_deployment_signal_transport: str = option(
        "CFN_SIGNAL", "How instances report deployments unless the template says.", choices=_SIGNALS
    )
    default_user_data_format: str = option(
        "HEAT_CFNTOOLS", "Format of user-data unless the template says.", choices=_FORMATS
    )
    max_server_user_data_size: int = option(
        49150, "Bytes of user-data that the compute service takes, before base64.", minimum=1
    )
    contact_timeout: int = option(
        600, "Seconds from ACTIVE within which an instance must call, else its deployments fail; 0: never.", minimum=0
    )
    run_output_days: int = option(
        7, "Days for which what deployments print is kept, also after their stack is gone.", minimum=1
    )
    instance_token_lifetime: int = option(3600, "Seconds a bearer token of an instance lives.", minimum=60)
    allow_template_url: bool = option(
        False,
        "Fetch templates from http(s) URLs that users give (template_url).",
        idle="the server fetches no template; clients send it.",
    )
    deferred_auth_method: str = option(
        "trusts", "How work without the user's token is authorised.", choices=("trusts",)
    )
    trusts_delegated_roles: tuple[str, ...] = option(
        (), "Roles that a trust delegates. Default: all roles of the user."
    )
    heat_stack_user_role: str = option(
        "heat_stack_user",
        "Role of in-instance users, for policies that name it.",
        idle="instances have identities of this server's own, which have no role.",
    )


@dataclass(frozen=True, kw_only=True)
class Limits:
    """[DEFAULT], limits. A request over a limit is refused with its name and value."""

    max_json_body_size: int = option(1048576, "Bytes of a request's body.", minimum=1)
    max_template_size: int = option(524288, "Bytes of one template.", minimum=1)
    max_resources_per_stack: int = option(1000, "Resources of one tree of stacks; -1: no limit.", minimum=-1)
    max_stacks_per_tenant: int = option(512, "Root stacks of one project; -1: no limit.", minimum=-1)
    max_nested_stack_depth: int = option(5, "How deep stacks may nest.", minimum=0)
    max_events_per_stack: int = option(
        1000,
        "Events kept of one stack; older ones are dropped; 0: all.",
        minimum=0,
        idle="all events are kept as long as their stack.",
    )
    max_snapshots_per_stack: int = option(
        32, "Snapshots of one stack; -1: no limit.", minimum=-1, idle="there are no snapshots of stacks yet."
    )
    max_software_configs_per_tenant: int = option(4096, "Software configs of one project; -1: no limit.", minimum=-1)
    max_software_deployments_per_tenant: int = option(4096, "Deployments of one project; -1: no limit.", minimum=-1)
    max_server_name_length: int = option(53, "Characters of a generated server name.", minimum=8, maximum=63)
    stack_action_timeout: int = option(3600, "Seconds an operation may take unless timeout_mins says.", minimum=1)
    action_retry_limit: int = option(
        5,
        "How often a failed action of one resource is tried again.",
        minimum=0,
        idle="an action is tried again where the cloud says that it may go through later, until its time is up.",
    )
    client_retry_limit: int = option(
        2,
        "How often a failed call of a cloud service is tried again.",
        minimum=0,
        idle="calls are tried again by the kind of their failure, with growing pauses.",
    )
    enable_stack_abandon: bool = option(
        False, "Allow stacks to be abandoned and exported.", idle="stacks cannot be abandoned yet."
    )
    enable_stack_adopt: bool = option(False, "Allow stacks to be adopted.", idle="stacks cannot be adopted yet.")
    hidden_stack_tags: tuple[str, ...] = option((), "Stacks with one of these tags are left out of lists.")
    template_fetch_timeout: float = option(
        60.0, "Seconds within which a template must be fetched.", minimum=0, idle="the server fetches no template."
    )


@dataclass(frozen=True, kw_only=True)
class Listener:
    """One listening socket."""

    bind_host: str = option("0.0.0.0", "Address to listen at; :: for IPv6.")  # noqa: S104 - a server listens
    bind_port: int = option(8004, "TCP port to listen at; 0: any free one.", minimum=0, maximum=65535)
    cert_file: str = option("", "TLS certificate (PEM, with its chain). With key_file: HTTPS.")
    key_file: str = option("", "Private key of the TLS certificate (PEM).")


@dataclass(frozen=True, kw_only=True)
class RestListener(Listener):
    """[heat_api]: the orchestration listener (REST, instances)."""


@dataclass(frozen=True, kw_only=True)
class CfnListener(Listener):
    """[heat_api_cfn]: the CloudFormation listener (Query API, signals)."""

    bind_port: int = option(8000, "TCP port to listen at; 0: any free one.", minimum=0, maximum=65535)


@dataclass(frozen=True, kw_only=True)
class Database:
    """[database]"""

    connection: str = option(
        "",
        "SQLAlchemy URL: sqlite:///FILE, postgresql://…, mysql://…. Default: SQLite in STATE_DIR/calor.sqlite.",
        secret=True,
    )


@dataclass(frozen=True, kw_only=True)
class Keystone:
    """[keystone_authtoken]: the service user, and whom to ask about tokens."""

    auth_url: str = option("", "Keystone's URL, as the server reaches it.", former=("identity_uri",))
    www_authenticate_uri: str = option("", "Keystone's URL, as told to clients.", former=("auth_uri",))
    auth_type: str = option("password", "How the service user logs in.", choices=("password",), former=("auth_plugin",))
    username: str = option("", "Name of the service user.", former=("user_name", "admin_user"))
    password: str = option("", "Password of the service user.", secret=True, former=("admin_password",))
    project_name: str = option("service", "Project of the service user.", former=("tenant_name", "admin_tenant_name"))
    user_domain_name: str = option("Default", "Domain of the service user.")
    project_domain_name: str = option("Default", "Domain of the service user's project.")
    user_domain_id: str = option("", "Domain of the service user, by id.")
    project_domain_id: str = option("", "Domain of the service user's project, by id.")
    region_name: str | None = option(None, "Region of Keystone.")
    cafile: str = option("", "Certificates (PEM) that sign the cloud's. Default: the system's.")
    insecure: bool = option(False, "Do not verify the cloud's certificates.")
    http_connect_timeout: float = option(30.0, "Seconds to wait for an answer of Keystone.", minimum=0.1)
    token_cache_time: int = option(
        60, "Seconds a valid token is not asked about again; a revoked one works that long.", minimum=0
    )
    validation_threads: int = option(8, "How many tokens are asked about at once.", minimum=1)
    memcached_servers: tuple[str, ...] = option((), "Known for compatibility; tokens are kept in memory.")


@dataclass(frozen=True, kw_only=True)
class Clients:
    """[clients]: how the services of stacks are reached."""

    endpoint_type: str = option(
        "publicURL", "Which endpoints of the catalog are used.", choices=("publicURL", "internalURL", "adminURL")
    )
    ca_file: str = option("", "Certificates (PEM) that sign the cloud's. Default: [keystone_authtoken] cafile.")
    insecure: bool = option(False, "Do not verify the cloud's certificates.")
    max_connections: int = option(32, "How many calls of the cloud run at once.", minimum=1)
