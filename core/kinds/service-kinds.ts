/** A name that a user may have at a resource, and that roles list: a login, a database user. */
interface NameKind {
  /** The field of a role's allow and deny that lists these names. */
  readonly condition: string;
  readonly noun: string;
  /** As used in a refusal: `log in as root`. */
  readonly verb: string;
}

interface ServiceKindRow {
  /** Its section of platform.yaml. */
  readonly section: `${string}_service`;
  /** Role that a join token needs so that hosts joining with it may offer such a service; the inventory lists the service under this name. */
  readonly token: string;
  /** The field of a role's allow and deny whose labels its resources must match. */
  readonly labels: `${string}_labels`;
  /** By parameter of a request. */
  readonly names: Readonly<Record<string, NameKind>>;
  /** Port where an agent serves it to the proxies that dial it, by default; omitted for a kind that is reached through tunnels alone. */
  readonly directPort?: number;
  /** Options of a role, and conditions beside labels and names, that matter for this kind alone. */
  readonly options?: readonly string[];
  /** Of a kind whose resources an agent serves, rather than the host itself. */
  readonly served?: {
    /** As in `this agent does not offer application "x"`. */
    readonly noun: string;
    /** Kind of the cluster's resources that agents offer by their labels. */
    readonly resource: string;
    /** Field of audit events that names the resource. */
    readonly field: string;
    /** Lines of the section, as an example for those who set up a host. */
    readonly example: readonly string[];
  };
}

/**
 * Kinds of services: resources that users reach through an agent. Access decisions, roles, routing and configuration read this table, so that a
 * new kind is a row here and a folder in agent/; the compiler points to the places that need a line for it.
 */
export const serviceKinds = {
  ssh: {
    section: "ssh_service",
    token: "node",
    labels: "node_labels",
    names: { login: { condition: "logins", noun: "login", verb: "log in as" } },
    directPort: 3022,
  },
  app: {
    section: "app_service",
    token: "app",
    labels: "app_labels",
    names: {},
    served: {
      noun: "application",
      resource: "app",
      field: "app_name",
      example: ["apps:", "  - { name: orders, uri: tcp://127.0.0.1:9000, labels: { env: prod } }"],
    },
  },
  db: {
    section: "db_service",
    token: "db",
    labels: "db_labels",
    names: {
      user: { condition: "db_users", noun: "database user", verb: "connect as" },
      name: { condition: "db_names", noun: "database name", verb: "use database" },
    },
    options: ["db_replication", "db_roles", "create_db_user_mode", "create_db_user"],
    served: {
      noun: "database",
      resource: "db",
      field: "db_service",
      example: ["databases:", "  - { name: orders, protocol: postgres, uri: 127.0.0.1:5432, static_labels: { env: prod } }"],
    },
  },
  kube: {
    section: "kubernetes_service",
    token: "kube",
    labels: "kubernetes_labels",
    // Users and groups are lent, not chosen by one name: core/access/kube decides them together with the objects.
    names: {},
    directPort: 3026,
    options: ["kubernetes_users", "kubernetes_groups", "kubernetes_resources"],
    served: {
      noun: "Kubernetes cluster",
      resource: "kube_cluster",
      field: "kubernetes_cluster",
      example: ["kubeconfig_file: /etc/platform/kubeconfig", "labels: { env: prod }"],
    },
  },
} as const satisfies Readonly<Record<string, ServiceKindRow>>;

export type ServiceKind = keyof typeof serviceKinds;
/** Parameters of a request that carry a name, by kind. */
export type NameParameter<Kind extends ServiceKind> = keyof (typeof serviceKinds)[Kind]["names"] & string;
type NamesOf<Kind extends ServiceKind> = (typeof serviceKinds)[Kind]["names"];
type ConditionOf<Names> = { [Parameter in keyof Names]: Names[Parameter] extends { condition: infer Condition } ? Condition : never }[keyof Names];

export type LabelsCondition = (typeof serviceKinds)[ServiceKind]["labels"];
export type NamesCondition = { [Kind in ServiceKind]: ConditionOf<NamesOf<Kind>> }[ServiceKind];

/** Kinds whose resources an agent serves. */
export type ServedKind = Exclude<ServiceKind, "ssh">;
/** Kinds that proxies may dial an agent for. */
export type DirectKind = { [Kind in ServiceKind]: (typeof serviceKinds)[Kind] extends { readonly directPort: number } ? Kind : never }[ServiceKind];
export type ServedResource = (typeof serviceKinds)[ServedKind]["served"]["resource"];
export type ServedField = (typeof serviceKinds)[ServedKind]["served"]["field"];

export const serviceNames = Object.keys(serviceKinds) as readonly ServiceKind[];

export const servedKinds = serviceNames.filter((kind): kind is ServedKind => "served" in serviceKinds[kind]);

export function isServedKind(name: string): name is ServedKind {
  return servedKinds.some((kind) => kind === name);
}

/** Kinds that an agent may serve at a port of its own, to the proxies that dial it. */
export const directKinds = serviceNames.filter((kind): kind is DirectKind => "directPort" in serviceKinds[kind]);

/** The field of an audit event that names a resource of this kind. */
export function servedName(kind: ServedKind, name: string): Partial<Record<ServedField, string>> {
  return { [serviceKinds[kind].served.field]: name.slice(0, 256) };
}

/** Name of a service in the inventory: as in join tokens for kinds of services, itself for `proxy`, `auth` and what a newer host reports. */
export function inventoryName(service: string): string {
  const kind = serviceNames.find((one) => one === service);
  return kind === undefined ? service : serviceKinds[kind].token;
}
