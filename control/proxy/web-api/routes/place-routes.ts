import { z } from "zod";
import type { OfferedResource } from "../../../../core/api/generated/platform/auth/v1/auth_pb.ts";
import { hostPageSchema, type ListedHost } from "../../../../core/api/web/hosts.ts";
import { appListSchema, clusterListSchema, databaseListSchema } from "../../../../core/api/web/served.ts";
import { appFacts } from "../../../../core/resources/app-details.ts";
import { readDocument } from "../../../../core/resources/document.ts";
import { type Node, nodeDocument } from "../../../../core/resources/node.ts";
import { type OfferedHealth, offeredHealths } from "../../../../core/resources/offered.ts";
import { formatPorts } from "../../../../core/resources/tcp-ports.ts";
import type { AppSites } from "../../app-front/app-sites.ts";
import type { Api } from "../api/api.ts";
import { apiRoute } from "../api/api-route.ts";

/** Hosts of one answer. */
const pageSize = 1000;
/** An expression of `tsh ls --query`. */
const query = z.string().max(1000).default("");
const cursor = z.string().max(512).default("");

export interface PlaceServices {
  readonly appSites: Pick<AppSites, "hostOf">;
}

/** The hosts, applications, databases and Kubernetes clusters in reach of the user; all of them with the right to list hosts. */
export function placeRoutes(api: Api, { appSites }: PlaceServices): void {
  apiRoute(api, {
    method: "GET",
    path: "/webapi/v1/hosts",
    summary: "Lists hosts, 1,000 in an answer; `query` is an expression of `tsh ls --query`.",
    schema: { query: z.strictObject({ query, cursor }), answer: hostPageSchema },
    handler: async ({ auth, query: wanted }) => {
      const page = await auth.listResources({ kind: "node", ...wanted, limit: pageSize });
      return { hosts: page.resources.map(({ json }) => listedHost(readDocument(nodeDocument, json))), cursor: page.cursor };
    },
  });
  apiRoute(api, {
    method: "GET",
    path: "/webapi/v1/apps",
    summary: "Lists the applications that agents offer now.",
    schema: { query: z.strictObject({ query }), answer: appListSchema },
    handler: async ({ auth, query: wanted }) => {
      const { resources } = await auth.listOffered({ kind: "app", ...wanted });
      const apps = resources.map((one) => {
        const { scheme, tcpPorts } = appFacts(one);
        const host = scheme === "http" ? appSites.hostOf(one.name) : undefined;
        return { ...served(one), type: scheme, ...(host !== undefined && { host }), ...(tcpPorts && { ports: formatPorts(tcpPorts) }) };
      });
      return { apps };
    },
  });
  apiRoute(api, {
    method: "GET",
    path: "/webapi/v1/databases",
    summary: "Lists the databases that agents offer now, with the accounts that the user's roles allow.",
    schema: { query: z.strictObject({ query }), answer: databaseListSchema },
    handler: async ({ auth, query: wanted }) => {
      const { resources } = await auth.listOffered({ kind: "db", ...wanted });
      const databases = resources.map((one) => {
        return { ...served(one), protocol: one.details.protocol ?? "", accounts: one.accounts, makes_account: one.makesAccount };
      });
      return { databases };
    },
  });
  apiRoute(api, {
    method: "GET",
    path: "/webapi/v1/kube-clusters",
    summary: "Lists the Kubernetes clusters that agents offer now.",
    schema: { query: z.strictObject({ query }), answer: clusterListSchema },
    handler: async ({ auth, query: wanted }) => ({ clusters: (await auth.listOffered({ kind: "kube", ...wanted })).resources.map(served) }),
  });
}

function listedHost({ metadata, spec, status }: Node): ListedHost {
  const addr = spec.addr ?? status?.addr;
  return {
    id: metadata.name,
    name: spec.hostname,
    labels: metadata.labels ?? {},
    state: spec.addr !== undefined ? "registered" : status?.connected === true ? "connected" : "offline",
    ...(status?.since !== undefined && { since: status.since }),
    version: spec.version,
    ...(addr !== undefined && { addr }),
  };
}

/** The best health that any of its hosts sees: one that reaches it is enough. */
function served({ name, labels, hosts }: Pick<OfferedResource, "name" | "labels" | "hosts">) {
  const health: OfferedHealth = offeredHealths.find((one) => hosts.some((host) => host.health === one)) ?? "unknown";
  const why = health === "unhealthy" ? hosts.find((host) => host.healthError !== "")?.healthError : undefined;
  return { name, labels, health, ...(why !== undefined && { health_error: why }), hosts: hosts.map(({ hostname }) => hostname) };
}
