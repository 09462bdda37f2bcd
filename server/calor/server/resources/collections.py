"""The cloud's collections that the types live in, by openstacksdk's names."""

from calor.server.cloud.door import Collection

COMPUTE_VERSION = "2.79"  # tags at create (2.52), networks auto/none (2.37), volume types of boot volumes (2.67)
PERSONALITY_VERSION = "2.56"  # the last that puts files into a server
KEYPAIR_VERSION = "2.10"  # the last but few that makes keys; users' and types of keys since 2.10

SERVERS = Collection(service="compute", single="server", plural="servers", microversion=COMPUTE_VERSION)
KEYPAIRS = Collection(service="compute", single="keypair", plural="keypairs", microversion=KEYPAIR_VERSION)
FLAVORS = Collection(service="compute", single="flavor", plural="flavors")
IMAGES = Collection(service="image", single="image", plural="images")

NETWORKS = Collection(service="network", single="network", plural="networks")
SUBNETS = Collection(service="network", single="subnet", plural="subnets")
SUBNET_POOLS = Collection(service="network", single="subnet_pool", plural="subnet pools")
SEGMENTS = Collection(service="network", single="segment", plural="segments")
PORTS = Collection(service="network", single="port", plural="ports")
ROUTERS = Collection(service="network", single="router", plural="routers")
FLOATING_IPS = Collection(service="network", single="floating_ip", plural="floating IPs")
SECURITY_GROUPS = Collection(service="network", single="security_group", plural="security groups")
SECURITY_GROUP_RULES = Collection(service="network", single="security_group_rule", plural="security group rules")
QOS_POLICIES = Collection(service="network", single="qos_policy", plural="QoS policies")

VOLUMES = Collection(service="block_storage", single="volume", plural="volumes")
SNAPSHOTS = Collection(service="block_storage", single="snapshot", plural="snapshots")
BACKUPS = Collection(service="block_storage", single="backup", plural="backups")
VOLUME_TYPES = Collection(service="block_storage", single="type", plural="volume types")

USERS = Collection(service="identity", single="user", plural="users")
PROJECTS = Collection(service="identity", single="project", plural="projects")
