import type { FastifyInstance } from "fastify";
import { formatHostPort } from "../../../core/transport/host-port.ts";
import { homePage } from "./home-page.ts";
import { pageHeaders } from "./page.ts";
import { publicAddress } from "./ping.ts";
import type { WebServices } from "./web-services.ts";

/** `GET /`: a page for people. It shows only facts that ping and the export of authorities show too. */
export function homeRoutes(app: FastifyInstance, { auth, clusterName, ping, packagesDir }: WebServices): void {
  app.get("/", async (_request, reply) => {
    const facts = ping();
    // The page works even while the auth service is unreachable.
    const caPins = await auth.getCluster({}, { timeoutMs: 5000 }).then(
      (cluster) => cluster.caPins,
      () => [],
    );
    const proxy = formatHostPort(publicAddress(facts));
    const html = homePage({ clusterName, proxy, caPins, version: facts.version, servesPackages: packagesDir !== undefined });
    return await reply.headers(pageHeaders()).send(html);
  });
}
