"""The cloud's collections that the types live in, by openstacksdk's names."""

from calor.server.cloud.door import Collection

SERVERS = Collection(service="compute", single="server", plural="servers")
KEYPAIRS = Collection(service="compute", single="keypair", plural="keypairs")
FLAVORS = Collection(service="compute", single="flavor", plural="flavors")
IMAGES = Collection(service="image", single="image", plural="images")

NETWORKS = Collection(service="network", single="network", plural="networks")
SUBNETS = Collection(service="network", single="subnet", plural="subnets")
SUBNET_POOLS = Collection(service="network", single="subnet_pool", plural="subnet_pools")
PORTS = Collection(service="network", single="port", plural="ports")
ROUTERS = Collection(service="network", single="router", plural="routers")
FLOATING_IPS = Collection(service="network", single="ip", plural="ips")
SECURITY_GROUPS = Collection(service="network", single="security_group", plural="security_groups")
SECURITY_GROUP_RULES = Collection(service="network", single="security_group_rule", plural="security_group_rules")
QOS_POLICIES = Collection(service="network", single="qos_policy", plural="qos_policies")

VOLUMES = Collection(service="block_storage", single="volume", plural="volumes")
SNAPSHOTS = Collection(service="block_storage", single="snapshot", plural="snapshots")
BACKUPS = Collection(service="block_storage", single="backup", plural="backups")
VOLUME_TYPES = Collection(service="block_storage", single="type", plural="types")

USERS = Collection(service="identity", single="user", plural="users")
