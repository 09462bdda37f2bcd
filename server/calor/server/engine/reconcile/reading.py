"""A stack read for an answer: its rows and its blueprint, without a lease and without the right to write."""

from calor.server.cloud.credentials import Credentials
from calor.server.engine.durable.tree import Tree
from calor.server.engine.reconcile.bench import Bench
from calor.server.engine.reconcile.nested import ChildStacks
from calor.server.engine.reconcile.tools import Tools
from calor.server.engine.revision.revisions import Blueprints
from calor.server.store.rows import StackRow
from calor.server.store.states import Action
from calor.server.store.writes import Fence

NOBODY = -1


async def bench_of(tools: Tools, blueprints: Blueprints, stack: StackRow) -> Bench:
    """Its writes would fail: the fence is nobody's."""
    tree = Tree(tools.journal, Fence(stack.root_id, "", NOBODY))
    await tree.load(tools.database)
    rights = tools.sealing.value(tree.root.credentials) or {}
    record = rights.get("owner") or {"kind": "token", "project_id": stack.project_id, "user_id": stack.user_id}
    cloud = tools.door.open(Credentials.from_record({"ident": "", "secret": "", "region": None, **record}))
    children = ChildStacks(tools, tree, blueprints, cloud)
    await children.prepare()
    blueprint = await blueprints.of(stack, stack.revision_id)
    bench = children.bench(stack.id, blueprint)
    for row in tree.rows_of(stack.id):
        if row.action is not Action.DELETE:
            bench.current[row.name] = row
    return bench
