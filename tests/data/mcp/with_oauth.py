"""A server of the official package behind its own authorization server; prints its port. Everybody is let in at once.

GET /admin/log: what happened, as a list. /admin/revoke: no access token counts any more;
/admin/forget: no refresh token.
"""

import secrets
import socket
import time

import uvicorn
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    OAuthAuthorizationServerProvider,
    RefreshToken,
    construct_redirect_uri,
)
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
from mcp.server.mcpserver import MCPServer
from mcp.shared.auth import OAuthToken
from starlette.responses import JSONResponse

listener = socket.socket()
listener.bind(("127.0.0.1", 0))
listener.listen()
URL = f"http://127.0.0.1:{listener.getsockname()[1]}"


class Provider(OAuthAuthorizationServerProvider):
    def __init__(self):
        self.clients, self.codes, self.access, self.refresh, self.log = {}, {}, {}, {}, []

    async def get_client(self, client_id):
        return self.clients.get(client_id)

    async def register_client(self, client_info):
        self.log.append("register")
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client, params):
        self.log.append(f"authorize {params.resource}")
        code = AuthorizationCode(
            code=secrets.token_urlsafe(24),
            client_id=client.client_id,
            expires_at=time.time() + 60,
            scopes=params.scopes or [],
            **params.model_dump(
                include={"code_challenge", "redirect_uri", "redirect_uri_provided_explicitly", "resource"}
            ),
        )
        self.codes[code.code] = code
        return construct_redirect_uri(str(params.redirect_uri), code=code.code, state=params.state)

    async def load_authorization_code(self, client, authorization_code):
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(self, client, authorization_code):
        del self.codes[authorization_code.code]
        return self.tokens(client, authorization_code.scopes, authorization_code.resource)

    async def load_refresh_token(self, client, refresh_token):
        return self.refresh.get(refresh_token)

    async def exchange_refresh_token(self, client, refresh_token, scopes):
        self.log.append("refresh")
        del self.refresh[refresh_token.token]  # each counts once
        return self.tokens(client, scopes, refresh_token.resource)

    def tokens(self, client, scopes, resource):
        both = {"client_id": client.client_id, "scopes": scopes, "resource": resource, "subject": "ada"}
        access = AccessToken(token=secrets.token_urlsafe(24), **both)
        refresh = RefreshToken(token=secrets.token_urlsafe(24), **both)
        self.access[access.token], self.refresh[refresh.token] = access, refresh
        return OAuthToken(
            access_token=access.token, refresh_token=refresh.token, expires_in=3600, scope=" ".join(scopes)
        )

    async def load_access_token(self, token):
        return self.access.get(token)

    async def revoke_token(self, token):
        pass


provider = Provider()
server = MCPServer(
    "guarded",
    auth_server_provider=provider,
    auth=AuthSettings(
        issuer_url=URL,
        resource_server_url=f"{URL}/mcp",
        required_scopes=["read"],
        validate_token_resource=True,
        client_registration_options=ClientRegistrationOptions(enabled=True, valid_scopes=["read"]),
    ),
)


@server.tool()
def whoami() -> str:
    return "ada"


@server.custom_route("/admin/{what}", methods=["GET"])
async def admin(request):
    {"revoke": provider.access.clear, "forget": provider.refresh.clear}.get(request.path_params["what"], list)()
    return JSONResponse(provider.log)


print(listener.getsockname()[1], flush=True)
uvicorn.Server(uvicorn.Config(server.streamable_http_app(), log_level="error")).run(sockets=[listener])
