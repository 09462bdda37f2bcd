"""The two aiohttp applications over the engine's services."""

from aiohttp import web

from calor.server.api import catalogue, cfn, cfn_answers, routes
from calor.server.api.keys import ORCHESTRATOR, POLICY, SETTINGS, TOKENS, ApiSettings, Tokens
from calor.server.api.middlewares import answering_errors, heat_error, identified
from calor.server.auth.enforcement import Policy
from calor.server.engine.contract.services import Orchestrator


def orchestration_app(
    *, orchestrator: Orchestrator, policy: Policy, tokens: Tokens, settings: ApiSettings
) -> web.Application:
    """REST v1, the guest protocol and our ``/v3``. Starting and stopping the parts is the caller's."""
    app = web.Application(middlewares=[identified, answering_errors(heat_error)])
    app[ORCHESTRATOR], app[POLICY], app[TOKENS], app[SETTINGS] = orchestrator, policy, tokens, settings
    routes.install(app.router)
    return app


def cfn_app(*, orchestrator: Orchestrator, settings: ApiSettings) -> web.Application:
    """The CloudFormation Query API and signed URLs."""
    app = web.Application(middlewares=[identified, answering_errors(cfn_answers.error_answer)])
    app[ORCHESTRATOR], app[SETTINGS] = orchestrator, settings
    for path in ("/v1", "/v1/", "/"):
        app.router.add_get(path, cfn.query, allow_head=False)
        app.router.add_post(path, cfn.query)
    for path in ("/v1/signal/{arn:.*}", "/v1/waitcondition/{arn:.*}"):
        app.router.add_post(path, cfn.signal)
        app.router.add_put(path, cfn.signal)
    app.router.add_get("/healthcheck", catalogue.healthcheck, allow_head=False)
    return app
