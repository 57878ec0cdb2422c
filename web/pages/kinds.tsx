import type { ComponentChildren, ComponentType } from "preact";
import type { AnyResource } from "../../core/api/web/documents.ts";
import type { Column } from "../parts/table.tsx";
import { TimeText } from "../parts/time-text.tsx";
import type { BesideFacts } from "./document-editor.tsx";
import { RoleForm } from "./role-form.tsx";
import { TokenButton } from "./token-button.tsx";
import { UserActions, type UserActionsFacts } from "./user-actions.tsx";
import { UserForm } from "./user-form.tsx";

/** How the resources of one kind are shown. */
export interface KindFacts {
  readonly kind: string;
  readonly title: string;
  readonly noun: string;
  /** Columns besides the name. */
  readonly cells: readonly Column<AnyResource>[];
  /** YAML that a new one begins with; left out: it is not made from a text. */
  readonly example?: string;
  /** Another way to make one. */
  readonly more?: ComponentType<{ readonly reload: () => void }>;
  /** What may be done with one, besides changing and removing it. */
  readonly actions?: ComponentType<UserActionsFacts>;
  /** Shown beside the text of one. */
  readonly beside?: ComponentType<BesideFacts>;
  /** What to do first. */
  readonly empty: ComponentChildren;
}

const specOf = (document: AnyResource): Readonly<Record<string, unknown>> => (document.spec ?? {}) as Readonly<Record<string, unknown>>;
const listOf = (value: unknown): string => (Array.isArray(value) ? value.join(", ") : "");
const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

const description: Column<AnyResource> = {
  id: "description",
  title: "Description",
  wide: true,
  share: 4,
  cell: ({ metadata }) => metadata.description ?? "",
};

export const users: KindFacts = {
  kind: "user",
  title: "Users",
  noun: "user",
  cells: [
    {
      id: "roles",
      title: "Roles",
      by: (one) => listOf(specOf(one).roles),
      share: 3,
      cell: (one) => <span title={listOf(specOf(one).roles)}>{listOf(specOf(one).roles)}</span>,
    },
    { id: "state", title: "State", by: stateOf, share: 1, cell: stateOf },
  ],
  actions: UserActions,
  beside: UserForm,
  example: "kind: user\nversion: v2\nmetadata:\n  name: ann\nspec:\n  roles: [access]\n  traits:\n    logins: [ann]\n",
  empty: <p>Make a user, then send the invite link: it lets the user choose a password and register an authenticator.</p>,
};

function stateOf({ status }: AnyResource): string {
  return textOf((status as { state?: unknown } | undefined)?.state);
}

export const roles: KindFacts = {
  kind: "role",
  title: "Roles",
  noun: "role",
  cells: [description],
  beside: RoleForm,
  example:
    "kind: role\nversion: v7\nmetadata:\n  name: web-admins\n  description: Web servers, as root\nspec:\n  allow:\n    logins: [root]\n    node_labels:\n      team: web\n",
  empty: <p>A role says which hosts, applications, databases and Kubernetes clusters its users reach, and what else they may do.</p>,
};

export const locks: KindFacts = {
  kind: "lock",
  title: "Locks",
  noun: "lock",
  cells: [
    { id: "target", title: "Target", by: targetOf, cell: targetOf },
    { id: "message", title: "Message", wide: true, share: 3, cell: (one) => textOf(specOf(one).message) },
    { id: "expires", title: "Expires", by: (one) => textOf(specOf(one).expires), wide: true, cell: (one) => <Expiry at={specOf(one).expires} /> },
  ],
  example:
    "kind: lock\nversion: v2\nmetadata:\n  name: lost-laptop-of-ann\nspec:\n  target:\n    user: ann\n  message: your laptop was reported lost\n",
  empty: <p>A lock shuts out a user, a role, a login or a host at once, and ends what they have open.</p>,
};

function targetOf(one: AnyResource): string {
  return Object.entries((specOf(one).target ?? {}) as Readonly<Record<string, unknown>>)
    .map(([name, value]) => `${name.replace("_id", "")} ${textOf(value)}`)
    .join(", ");
}

export const tokens: KindFacts = {
  kind: "token",
  title: "Join tokens",
  noun: "token",
  cells: [
    { id: "roles", title: "Services", by: (one) => listOf(specOf(one).roles), cell: (one) => listOf(specOf(one).roles) },
    {
      id: "uses",
      title: "Uses left",
      wide: true,
      cell: (one) => (typeof specOf(one).uses_left === "number" ? String(specOf(one).uses_left) : "any number"),
    },
    { id: "expires", title: "Expires", cell: ({ metadata }) => <Expiry at={metadata.expires} /> },
  ],
  more: TokenButton,
  empty: <p>A join token lets hosts join the cluster. Its install line does all that a new host needs.</p>,
};

function Expiry({ at }: { readonly at: unknown }) {
  return typeof at === "string" ? <TimeText at={at} ago /> : <span class="quiet">never</span>;
}
