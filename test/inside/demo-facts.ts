import type { HostStatus } from "../../core/resources/host-status.ts";
import type { Offered } from "../../core/resources/offered.ts";

const minute = 60_000;
/** A moment before now, RFC 3339. */
export const ago = (ms: number): string => new Date(Date.now() - ms).toISOString();

/** Name, environment, team, version. */
export const demoHosts = [
  ["web-1.fra", "prod", "web", "1.8.2"],
  ["web-2.fra", "prod", "web", "1.8.2"],
  ["web-3.ams", "prod", "web", "1.7.4"],
  ["api-1.fra", "prod", "platform", "1.8.2"],
  ["api-2.ams", "prod", "platform", "1.7.4"],
  ["queue-1.fra", "prod", "platform", "1.8.2"],
  ["build-1.ber", "dev", "tools", "1.9.0"],
  ["build-2.ber", "dev", "tools", "1.9.0"],
  ["staging-1.ams", "staging", "web", "1.9.0"],
  ["staging-2.ams", "staging", "platform", "1.8.2"],
  ["old-erp.ber", "prod", "finance", "1.6.0"],
] as const;

/** What the updater of a host of this version reports. */
export const statusOf = (version: string): HostStatus => ({
  upgrader: version === "1.6.0" ? "none" : "unit",
  ...(version !== "1.6.0" && { upgrader_version: version, at: ago(7 * minute), reason: version === "1.9.0" ? "up_to_date" : "outside_window" }),
  sessions: 0,
});

export const demoApps: readonly Offered[] = [
  { kind: "app", name: "grafana", labels: { env: "prod", team: "platform" }, details: { scheme: "http", health: "healthy" } },
  { kind: "app", name: "jenkins", labels: { env: "dev", team: "tools" }, details: { scheme: "http", health: "healthy" } },
  { kind: "app", name: "wiki", labels: { team: "everyone" }, details: { scheme: "http", health: "healthy" } },
  {
    kind: "app",
    name: "invoices",
    labels: { env: "prod", team: "finance" },
    details: { scheme: "http", health: "unhealthy", health_error: "connect ECONNREFUSED 10.4.0.12:8080" },
  },
  { kind: "app", name: "mail-relay", labels: { env: "prod", team: "platform" }, details: { scheme: "tcp", health: "unknown" } },
];

export const demoDatabases: readonly Offered[] = [
  { kind: "db", name: "orders", labels: { env: "prod", team: "web" }, details: { protocol: "postgres", health: "healthy" } },
  { kind: "db", name: "orders-staging", labels: { env: "staging", team: "web" }, details: { protocol: "postgres", health: "healthy" } },
  { kind: "db", name: "billing", labels: { env: "prod", team: "finance" }, details: { protocol: "mysql", health: "healthy" } },
  {
    kind: "db",
    name: "events",
    labels: { env: "prod", team: "platform" },
    details: { protocol: "mongodb", health: "unhealthy", health_error: "no primary" },
  },
  { kind: "db", name: "cache", labels: { env: "prod", team: "web" }, details: { protocol: "redis", health: "healthy" } },
];

export const demoClusters: readonly Offered[] = [
  { kind: "kube", name: "prod-eu", labels: { env: "prod", region: "eu" }, details: { health: "healthy" } },
  { kind: "kube", name: "prod-us", labels: { env: "prod", region: "us" }, details: { health: "healthy" } },
  {
    kind: "kube",
    name: "staging",
    labels: { env: "staging", region: "eu" },
    details: { health: "unhealthy", health_error: "the agent's account may not impersonate groups" },
  },
];

export const demoRoles = [
  [
    "web-admins",
    "Web servers, as root",
    { allow: { logins: ["root", "deploy"], node_labels: { team: "web" }, app_labels: { team: ["web", "everyone"] } } },
  ],
  [
    "developers",
    "Staging and build servers",
    { allow: { logins: ["deploy"], node_labels: { env: ["staging", "dev"] }, app_labels: { env: "dev" } } },
  ],
  ["dba", "All databases, as their owner", { allow: { db_labels: { "*": "*" }, db_users: ["admin", "reader"], db_names: ["*"] } }],
  ["on-call", "Production, while on call", { allow: { logins: ["root"], node_labels: { env: "prod" } }, options: { max_session_ttl: "4h" } }],
  [
    "everything",
    "For the people who run this cluster",
    {
      allow: {
        logins: ["root", "deploy"],
        node_labels: { "*": "*" },
        app_labels: { "*": "*" },
        db_labels: { "*": "*" },
        db_users: ["admin", "reader"],
        db_names: ["*"],
        rules: [{ resources: ["cluster_maintenance_config"], verbs: ["*"] }],
        join_sessions: [{ name: "all", roles: ["*"], kinds: ["*"], modes: ["*"] }],
      },
    },
  ],
] as const;

export const demoPeople = [
  ["ben", ["developers"]],
  ["carla", ["web-admins", "on-call"]],
  ["deniz", ["dba"]],
  ["emil", ["developers", "on-call"]],
] as const;
