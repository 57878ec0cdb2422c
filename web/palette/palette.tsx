import { useEffect, useId, useState } from "preact/hooks";
import type { HostPage, ListedHost } from "../../core/api/web/hosts.ts";
import type { ListedApp, ListedCluster, ListedDatabase } from "../../core/api/web/served.ts";
import { callPages } from "../api/pages.ts";
import { call, logins } from "../api/request.ts";
import { can, person } from "../api/session.ts";
import { Dialog } from "../parts/dialog.tsx";
import { notify, notifyError } from "../parts/notice.tsx";
import { navigate } from "../router/location.ts";
import { namedRoutes } from "../routes.tsx";
import { launchPath } from "../text/launch-path.ts";
import { countText } from "../text/size.ts";
import { keepLoads } from "./keep-loads.ts";
import { type PaletteEntry, rankEntries } from "./rank-entries.ts";

/** The command palette: Ctrl-K (or ⌘K), a few letters, Enter. */
export function Palette() {
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    const listen = (event: KeyboardEvent): void => {
      if (event.key.toLowerCase() !== "k" || event.altKey || event.shiftKey || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      setOpen(true);
    };
    addEventListener("keydown", listen);
    return () => removeEventListener("keydown", listen);
  }, []);
  return (
    <>
      <button type="button" class="go" onClick={() => setOpen(true)}>
        Go to… <kbd>Ctrl K</kbd>
      </button>
      {isOpen && (
        <Dialog title="Go to" close={() => setOpen(false)}>
          <Chooser close={() => setOpen(false)} />
        </Dialog>
      )}
    </>
  );
}

function Chooser({ close }: { readonly close: () => void }) {
  const id = useId();
  const [search, setSearch] = useState("");
  const [at, setAt] = useState(0);
  const found = rankEntries(useEntries(), search);
  const chosen = found[Math.min(at, found.length - 1)];
  const go = (entry: PaletteEntry | undefined): void => {
    if (entry === undefined) return;
    close();
    if (entry.path.startsWith("/web/")) open(entry.path, "_blank", "noopener");
    else navigate(entry.path);
  };
  const press = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Enter") go(chosen);
    else if (step === undefined) return;
    else setAt((Math.min(at, found.length - 1) + step + found.length) % Math.max(1, found.length));
    event.preventDefault();
  };
  return (
    <div class="palette">
      <input
        autofocus
        role="combobox"
        aria-label="Page, host, application, database, cluster or user"
        aria-expanded="true"
        aria-controls={`${id}-list`}
        aria-activedescendant={chosen === undefined ? undefined : `${id}-${found.indexOf(chosen)}`}
        autocomplete="off"
        spellcheck={false}
        value={search}
        onInput={(event) => {
          setSearch(event.currentTarget.value);
          setAt(0);
        }}
        onKeyDown={press}
      />
      <div id={`${id}-list`} role="listbox" aria-label="Matches">
        {found.map((entry, place) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are those of the field above
          <div
            key={`${entry.kind} ${entry.path}`}
            id={`${id}-${place}`}
            role="option"
            tabIndex={-1}
            aria-selected={entry === chosen}
            onClick={() => go(entry)}
          >
            {entry.title} <span class="quiet">{entry.kind}</span>
          </div>
        ))}
      </div>
      {found.length === 0 && <p class="quiet">Nothing has that name.</p>}
    </div>
  );
}

type Entries = readonly PaletteEntry[];

/** Time for which names are kept: a fleet of many hosts is not loaded at every Ctrl-K. */
const keptMs = 30_000;
const names = keepLoads<Entries>(keptMs, () => performance.now());

/** Pages at once; hosts, applications, databases, Kubernetes clusters and users as they come. */
function useEntries(): Entries {
  const [entries, setEntries] = useState<Entries>(() => namedRoutes().map(({ title, path }) => ({ title, kind: "page", path })));
  useEffect(() => {
    let isLeft = false;
    const loads = [hosts, applications, databases, clusters, ...(can("user", "list") ? [users] : [])];
    for (const loading of names.take(`${person.value?.user} ${logins.value}`, loads)) {
      loading.then(
        (more) => isLeft || setEntries((before) => [...before, ...more]),
        (thrown: unknown) => isLeft || notifyError(thrown),
      );
    }
    return () => {
      isLeft = true;
    };
  }, []);
  return entries;
}

const found = (page: string, name: string): string => `${page}?search=${encodeURIComponent(name)}`;

async function hosts(): Promise<Entries> {
  const { entries, isCut } = await callPages<HostPage, ListedHost>("/hosts", { entries: (page) => page.hosts });
  if (isCut) notify(`Only ${countText(entries.length, "host")} are found here: the filter of the page Hosts finds others.`);
  return entries.map(({ name }) => ({ title: name, kind: "host", path: found("/hosts", name) }));
}

async function applications(): Promise<Entries> {
  const { apps } = await call<{ apps: readonly ListedApp[] }>("/apps");
  return apps.map((app) => ({
    title: app.name,
    kind: "application",
    path: app.host !== undefined ? launchPath(app.host) : found("/apps", app.name),
  }));
}

async function databases(): Promise<Entries> {
  const { databases: all } = await call<{ databases: readonly ListedDatabase[] }>("/databases");
  return all.map(({ name }) => ({ title: name, kind: "database", path: found("/databases", name) }));
}

async function clusters(): Promise<Entries> {
  const { clusters: all } = await call<{ clusters: readonly ListedCluster[] }>("/kube-clusters");
  return all.map(({ name }) => ({ title: name, kind: "cluster", path: found("/kubernetes", name) }));
}

async function users(): Promise<Entries> {
  const { resources } = await call<{ resources: readonly { metadata: { name: string } }[] }>("/resources/user");
  return resources.map(({ metadata: { name } }) => ({ title: name, kind: "user", path: found("/users", name) }));
}
