import type { ComponentType } from "preact";
import { can } from "./api/session.ts";
import type { laterPages } from "./later-pages.ts";
import { Applications } from "./pages/applications.tsx";
import { Audit } from "./pages/audit.tsx";
import { Databases } from "./pages/databases.tsx";
import { Documents } from "./pages/documents.tsx";
import { Hosts } from "./pages/hosts.tsx";
import { Inventory } from "./pages/inventory.tsx";
import { locks, roles, tokens, users } from "./pages/kinds.tsx";
import { KubeClusters } from "./pages/kube-clusters.tsx";
import { KubePods, kubePodsPath } from "./pages/kube-pods.tsx";
import { RecordingPage, recordingPath } from "./pages/recording.tsx";
import { Recordings } from "./pages/recordings.tsx";
import { Sessions } from "./pages/sessions.tsx";
import { TerminalDocument } from "./pages/terminal.tsx";
import { later } from "./parts/later.tsx";

/** A page of the Web UI. */
export interface PageRoute {
  /** Below the folder of the Web UI. */
  readonly path: string;
  readonly title: string;
  readonly group: "Access" | "Activity" | "Fleet" | "Administration" | "You";
  readonly page: ComponentType;
  /** A page about one thing: a list leads to it, and the navigation does not name it. */
  readonly isInside?: boolean;
  /** Whether the user may see anything there; left out: everybody may. */
  readonly isShown?: () => boolean;
}

const laterPage = (name: keyof typeof laterPages): ComponentType => later(name, async () => (await import("./later-pages.ts")).laterPages[name]);

/** All pages, in the order of the navigation. The first one is where a login leads. */
export const pageRoutes: readonly PageRoute[] = [
  { path: "/hosts", title: "Hosts", group: "Access", page: Hosts },
  { path: "/terminal", title: "Terminal", group: "Access", page: TerminalDocument, isInside: true },
  { path: "/apps", title: "Applications", group: "Access", page: Applications },
  { path: "/databases", title: "Databases", group: "Access", page: Databases },
  { path: "/kubernetes", title: "Kubernetes", group: "Access", page: KubeClusters },
  { path: kubePodsPath, title: "Pods", group: "Access", page: KubePods, isInside: true },
  { path: "/sessions", title: "Sessions", group: "Activity", page: Sessions },
  { path: "/recordings", title: "Recordings", group: "Activity", page: Recordings, isShown: () => can("session", "list") },
  { path: recordingPath, title: "Recording", group: "Activity", page: RecordingPage, isInside: true },
  { path: "/audit", title: "Audit log", group: "Activity", page: Audit, isShown: () => can("event", "list") },
  { path: "/inventory", title: "Inventory", group: "Fleet", page: Inventory, isShown: () => can("node", "list") },
  { path: "/updates", title: "Updates", group: "Fleet", page: laterPage("Updates"), isShown: () => can("upgrade_rollout", "read") },
  { path: "/users", title: "Users", group: "Administration", page: () => <Documents of={users} />, isShown: () => can("user", "list") },
  { path: "/roles", title: "Roles", group: "Administration", page: () => <Documents of={roles} />, isShown: () => can("role", "list") },
  { path: "/tokens", title: "Join tokens", group: "Administration", page: () => <Documents of={tokens} />, isShown: () => can("token", "list") },
  { path: "/locks", title: "Locks", group: "Administration", page: () => <Documents of={locks} />, isShown: () => can("lock", "list") },
  {
    path: "/explain",
    title: "Explain access",
    group: "Administration",
    page: laterPage("Explain"),
    isShown: () => can("user", "read") && can("role", "list") && can("lock", "list"),
  },
  { path: "/account", title: "Your account", group: "You", page: laterPage("Account") },
];

/** The pages that this user sees. */
export function shownRoutes(): readonly PageRoute[] {
  return pageRoutes.filter(({ isShown }) => isShown === undefined || isShown());
}

/** Those that the navigation names. */
export function namedRoutes(): readonly PageRoute[] {
  return shownRoutes().filter(({ isInside = false }) => !isInside);
}
