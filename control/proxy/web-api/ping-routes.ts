import type { FastifyInstance } from "fastify";
import { findAnswer, pingAnswer } from "./ping.ts";
import type { WebServices } from "./web-app.ts";

/** Without a connector of that name there is nothing to answer: `/webapi/ping/<connector>` is a 404. */
export function pingRoutes(app: FastifyInstance, { auth, ping }: WebServices): void {
  for (const prefix of ["", "/v1"]) {
    // Ping vouches for the auth service: it answers only when that does.
    app.get(`${prefix}/webapi/ping`, async () => {
      await auth.getCluster({}, { timeoutMs: 5000 });
      return pingAnswer(ping());
    });
    app.get(`${prefix}/webapi/find`, async () => findAnswer(ping()));
  }
}
