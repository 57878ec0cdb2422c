import type { FastifyInstance } from "fastify";
import { type TokenKey, tokenKey } from "../../../token-key.ts";
import type { AuthorityServices } from "./authority-routes.ts";

/** How long readers keep the keys, seconds: much shorter than the first phase of a rotation, in which the next key is published and does not sign yet. */
const maxAge = 300;

/** `GET /.well-known/jwks.json`: the keys by which applications verify tokens (RFC 7517), public. During a rotation there are two. */
export function jwksRoute(app: FastifyInstance, { access }: Pick<AuthorityServices, "access">): void {
  app.get("/.well-known/jwks.json", async (_request, reply) => {
    const { bundles } = await access.current();
    const keys: TokenKey[] = bundles.filter(({ kind }) => kind === "jwt").flatMap(({ pem }) => pem.map(tokenKey));
    // An auth service of the version before has no such keys yet: readers should soon ask again.
    const caching = keys.length > 0 ? `public, max-age=${maxAge}` : "no-store";
    return await reply.header("Cache-Control", caching).send({ keys });
  });
}
