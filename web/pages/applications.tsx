import type { ListedApp } from "../../core/api/web/served.ts";
import { call } from "../api/request.ts";
import { CommandLine } from "../parts/command-line.tsx";
import { launchPath } from "../text/launch-path.ts";
import { proxyAppLine } from "../text/proxy-app-line.ts";
import { ServedList } from "./served-list.tsx";

/** The applications that the user may reach. */
export function Applications() {
  return (
    <ServedList<ListedApp>
      of={{
        resource: "app",
        labels: "app_labels",
        title: "Applications",
        noun: "application",
        load: async (signal) => (await call<{ apps: readonly ListedApp[] }>("/apps", { signal })).apps,
        type: { title: "Type", of: ({ type }) => type.toUpperCase() },
        facts: ({ host, ports }) => ({
          first: [
            ["Address", host],
            ["Ports", ports?.replaceAll(",", ", ")],
          ],
          last: [],
        }),
        end: { title: "Open", cell: OpenLink },
        connect: Connect,
        first: (
          <>
            List one under <code>app_service</code> of an agent, or create an <code>app</code> resource that an agent's labels match.
          </>
        ),
      }}
    />
  );
}

/** An HTTP application opens in a tab of its own; for others there is a command line. */
function OpenLink({ row: { name, host }, show }: { readonly row: ListedApp; readonly show: () => void }) {
  if (host !== undefined)
    return (
      <a class="button" href={launchPath(host)} target="_blank" rel="noopener">
        Open<span class="hidden"> {name} in a new tab</span>
      </a>
    );
  return (
    <button type="button" onClick={show} aria-label={`How to connect to ${name}`}>
      Connect…
    </button>
  );
}

function Connect({ row: { name, host, ports } }: { readonly row: ListedApp }) {
  return (
    <>
      {host !== undefined && (
        <p>
          <a class="button primary" href={launchPath(host)} target="_blank" rel="noopener">
            Open in a new tab
          </a>
        </p>
      )}
      <h3>Connect from the command line</h3>
      <p>This opens a local port to it, for as long as the command runs:</p>
      <CommandLine line={proxyAppLine(name, ports)} />
      {ports !== undefined && /\D/.test(ports) && <p>Put the port that you need after the colon.</p>}
    </>
  );
}
