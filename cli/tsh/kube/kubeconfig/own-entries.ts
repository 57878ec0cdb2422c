import { PlatformError } from "../../../../core/errors/platform-error.ts";
import type { KubeconfigEdit, ListEdit } from "./kubeconfig-edit.ts";
import { type Entry, type Kubeconfig, type ListName, listNames } from "./parse-kubeconfig.ts";

/*
 * What tsh writes into a kubeconfig: for each Kubernetes cluster an entry of each list, named `<cluster>-<kube cluster>`. Each carries the extension below,
 * which says what it is for; only entries with it are ever changed or removed.
 *   extensions:
 *   - name: platform.dev/kube
 *     extension: {cluster: example.com, kube: prod, previous: minikube}     previous: the context that was selected before
 */

const extensionName = "platform.dev/kube";

/** A Kubernetes cluster as a context of kubectl. */
export interface KubeContext {
  /** Name of the platform's cluster. */
  readonly cluster: string;
  readonly kube: string;
  /** Name of the context; left out: `<cluster>-<kube>`. */
  readonly name?: string | undefined;
  /** Left out: that of the context so far. */
  readonly namespace?: string | undefined;
  /** Fields of the `cluster` entry. */
  readonly server: Entry;
  /** Fields of the `user` entry. */
  readonly user: Entry;
}

/** A context of ours in a kubeconfig. */
export interface OwnContext {
  readonly context: string;
  readonly cluster: string;
  readonly kube: string;
  readonly namespace: string | undefined;
  readonly isSelected: boolean;
  /** User and groups to be, as the login stated them. */
  readonly as: string | undefined;
  readonly asGroups: readonly string[];
}

/** The name of the entries for a Kubernetes cluster. */
export function entryName({ cluster, kube }: Pick<KubeContext, "cluster" | "kube">): string {
  return `${cluster}-${kube}`;
}

/** Those that tsh wrote. Pure. */
export function ownContexts({ contexts, users, currentContext }: Kubeconfig): readonly OwnContext[] {
  return contexts.flatMap((entry) => {
    const own = markOf(entry, "contexts");
    if (own === undefined) return [];
    const { namespace } = inner(entry, "contexts");
    const context = String(entry.name);
    const user = users.find((one) => isFor(one, "users", own));
    const { as, "as-groups": groups } = user === undefined ? {} : inner(user, "users");
    return [
      {
        context,
        cluster: own.cluster,
        kube: own.kube,
        namespace: typeof namespace === "string" && namespace !== "" ? namespace : undefined,
        isSelected: context === currentContext,
        as: typeof as === "string" ? as : undefined,
        asGroups: Array.isArray(groups) ? groups.map(String) : [],
      },
    ];
  });
}

/** Whether all entries are those of local ports to this cluster, which hold keys; those of a login start tsh instead. Pure. */
export function holdsPortsAlone(config: Kubeconfig, cluster: string): boolean {
  const isOwn = (list: ListName) => (entry: Entry) => markOf(entry, list)?.cluster === cluster;
  return listNames.every((list) => config[list].every(isOwn(list))) && config.users.every((entry) => inner(entry, "users").exec === undefined);
}

/** The Kubernetes clusters whose entries still have the server of these contexts. Pure. */
export function stillWritten({ clusters }: Kubeconfig, written: readonly KubeContext[]): readonly string[] {
  const isIn = (one: KubeContext) => (entry: Entry) => isFor(entry, "clusters", one) && inner(entry, "clusters").server === one.server.server;
  return written.filter((one) => clusters.some(isIn(one))).map(({ kube }) => kube);
}

/**
 * Adds contexts, or replaces those for the same clusters; `select`: the context (by the name of the Kubernetes cluster) that becomes the current one. Throws
 * `conflict` for an entry of somebody else with a name that is needed. Pure.
 */
export function loginEdit(config: Kubeconfig, wanted: readonly KubeContext[], select: string | undefined): KubeconfigEdit {
  const lists = { clusters: startEdit(), users: startEdit(), contexts: startEdit() };
  const at = (list: ListName): ListPlace => ({ entries: config[list], list, edit: lists[list] });
  for (const one of wanted) {
    const entry = entryName(one);
    const name = one.name ?? entry;
    const before = config.contexts.find((context) => isFor(context, "contexts", one));
    const previous = before === undefined ? config.currentContext : (markOf(before, "contexts")?.previous ?? "");
    const namespace = one.namespace ?? (before === undefined ? undefined : inner(before, "contexts").namespace);
    const context = { cluster: entry, ...(namespace !== undefined && { namespace }), user: entry };
    place(at("clusters"), one, marked({ name: entry, cluster: one.server }, "cluster", one));
    place(at("users"), one, marked({ name: entry, user: one.user }, "user", one));
    place(at("contexts"), one, marked({ name, context }, "context", { ...one, previous }));
  }
  const selected = wanted.find(({ kube }) => kube === select);
  const currentContext = selected === undefined ? renamed(config, wanted) : (selected.name ?? entryName(selected));
  return { lists, ...(currentContext !== undefined && currentContext !== config.currentContext && { currentContext }) };
}

/** Where the selected context gets another name: that name. */
function renamed({ contexts, currentContext }: Kubeconfig, wanted: readonly KubeContext[]): string | undefined {
  const current = contexts.find(({ name }) => name === currentContext);
  const fresh = current === undefined ? undefined : wanted.find((one) => isFor(current, "contexts", one));
  return fresh === undefined ? undefined : (fresh.name ?? entryName(fresh));
}

/** Removes what tsh wrote for these Kubernetes clusters of a cluster, or for all; the context selected before is selected again. Pure. */
export function logoutEdit(config: Kubeconfig, cluster: string, kubes?: readonly string[]): KubeconfigEdit {
  const goes = (entry: Entry, list: ListName): boolean => {
    const own = markOf(entry, list);
    return own?.cluster === cluster && (kubes === undefined || kubes.includes(own.kube));
  };
  const lists = { clusters: startEdit(), users: startEdit(), contexts: startEdit() };
  for (const list of listNames) {
    for (const [index, entry] of config[list].entries()) if (goes(entry, list)) lists[list].remove.push(index);
  }
  /** Context → the one selected before it; those that go lead further back. */
  const gone = new Map(
    config.contexts.flatMap((one) => (goes(one, "contexts") ? [[String(one.name), markOf(one, "contexts")?.previous ?? ""]] : [])),
  );
  const before = (name: string): string => {
    let found = name;
    for (let steps = gone.size; gone.has(found) && steps >= 0; steps -= 1) found = gone.get(found) ?? "";
    return gone.has(found) ? "" : found;
  };
  for (const [index, entry] of config.contexts.entries()) {
    const own = goes(entry, "contexts") ? undefined : markOf(entry, "contexts");
    if (own !== undefined && gone.has(own.previous)) {
      lists.contexts.replace.set(index, marked(unmarked(entry, "context"), "context", { ...own, previous: before(own.previous) }));
    }
  }
  if (!gone.has(config.currentContext)) return { lists };
  const previous = before(config.currentContext);
  const exists = config.contexts.some(({ name }) => name === previous);
  return { lists, currentContext: exists ? previous : "" };
}

interface OpenEdit extends ListEdit {
  readonly remove: number[];
  readonly replace: Map<number, Entry>;
  readonly append: Entry[];
}

function startEdit(): OpenEdit {
  return { remove: [], replace: new Map(), append: [] };
}

type Whose = Pick<KubeContext, "cluster" | "kube">;

interface ListPlace {
  readonly list: ListName;
  readonly entries: readonly Entry[];
  readonly edit: OpenEdit;
}

/** In the place of the entry for the same cluster, or at the end. */
function place({ entries, list, edit }: ListPlace, whose: Whose, fresh: Entry): void {
  const own = entries.flatMap((entry, index) => (isFor(entry, list, whose) ? [index] : []));
  const foreign = entries.some((entry, index) => entry.name === fresh.name && !own.includes(index));
  const taken = foreign || [...edit.append, ...edit.replace.values()].some(({ name }) => name === fresh.name);
  if (taken) {
    throw new PlatformError(
      "conflict",
      `the kubeconfig has an entry ${JSON.stringify(fresh.name)} in ${list} that tsh did not write for ${whose.kube}`,
      {
        hint: "rename or remove it, or choose another name for the context with --set-context-name",
      },
    );
  }
  const [first, ...others] = own;
  if (first === undefined) edit.append.push(fresh);
  else edit.replace.set(first, fresh);
  edit.remove.push(...others);
}

interface Mark extends Whose {
  /** Of a context: the one that was selected before; empty: none. */
  readonly previous: string;
}

function isFor(entry: Entry, list: ListName, { cluster, kube }: Whose): boolean {
  const own = markOf(entry, list);
  return own !== undefined && own.cluster === cluster && own.kube === kube;
}

/** Undefined: tsh did not write it. */
function markOf(entry: Entry, list: ListName): Mark | undefined {
  const { extensions } = inner(entry, list);
  for (const one of Array.isArray(extensions) ? extensions : []) {
    const { name, extension } = fieldsOf(one);
    if (name !== extensionName) continue;
    const { cluster, kube, previous } = fieldsOf(extension);
    if (typeof cluster === "string" && typeof kube === "string") return { cluster, kube, previous: typeof previous === "string" ? previous : "" };
  }
  return undefined;
}

/** `cluster`, `user` or `context` of an entry. */
function inner(entry: Entry, list: ListName): Entry {
  return fieldsOf(entry[list.slice(0, -1)]);
}

function marked(entry: Entry, field: string, { cluster, kube, previous = "" }: Whose & { readonly previous?: string }): Entry {
  const fields = fieldsOf(entry[field]);
  const extension = { cluster, kube, ...(previous !== "" && { previous }) };
  const others = Array.isArray(fields.extensions) ? fields.extensions : [];
  return { ...entry, [field]: { ...fields, extensions: [...others, { name: extensionName, extension }] } };
}

function unmarked(entry: Entry, field: string): Entry {
  const fields = fieldsOf(entry[field]);
  const others = Array.isArray(fields.extensions) ? fields.extensions.filter((one: unknown) => fieldsOf(one).name !== extensionName) : [];
  return { ...entry, [field]: { ...fields, extensions: others } };
}

function fieldsOf(value: unknown): Entry {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Entry) : {};
}
