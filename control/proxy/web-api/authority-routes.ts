import type { FastifyInstance } from "fastify";
import { exportAuthority } from "./authority-export.ts";
import type { WebServices } from "./web-services.ts";

/** `GET /webapi/auth/export?type=…`: the public halves of the authorities, public. */
export function authorityRoutes(app: FastifyInstance, { access, clusterName }: WebServices): void {
  for (const prefix of ["", "/v1"]) {
    app.get<{ Querystring: { type?: string } }>(`${prefix}/webapi/auth/export`, async (request, reply) => {
      const { type } = request.query;
      const text = exportAuthority(typeof type === "string" ? type : "", { clusterName, ...(await access.current()) });
      return await reply.type("text/plain; charset=utf-8").send(text);
    });
  }
}
