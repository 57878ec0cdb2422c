import { errorText } from "../../core/errors/platform-error.ts";
import { appDocument } from "../../core/resources/app.ts";
import type { LabelMatchers } from "../../core/resources/role.ts";
import type { OfferedSource, Service } from "../service/service.ts";
import { type OfferedApp, offeredApps, toOffered } from "./offered-apps.ts";

export interface AppConfig {
  readonly apps: readonly OfferedApp[];
  /** Labels of the cluster's `app` resources that are offered too. */
  readonly matchers: readonly LabelMatchers[];
}

/** Interval between two polls of the cluster's `app` resources, ms. */
const refreshMs = 10_000;

/** Raw TCP applications that this host can reach. */
export function prepareApps({ apps: own, matchers }: AppConfig): Service {
  return {
    name: "app",
    open: async (deps, signal) => {
      let apps = own;
      const listeners: (() => void)[] = [];
      const offered: OfferedSource = { current: () => toOffered(apps), onChange: (listener) => void listeners.push(listener) };
      const refresh = async (): Promise<void> => {
        const cluster = await deps.listResources(appDocument);
        const next = offeredApps(own, cluster, matchers);
        if (JSON.stringify(next) === JSON.stringify(apps)) return;
        apps = next;
        for (const listener of listeners) listener();
      };
      if (matchers.length > 0)
        repeat(
          () => refresh().catch((thrown: unknown) => deps.log.debug("could not list the cluster's applications", { error: errorText(thrown) })),
          signal,
        );
      const findApp = (name: string): OfferedApp | undefined => apps.find((app) => app.name === name);
      return {
        offered,
        serve: {
          app: async (stream, request, life) => {
            const { serveApp } = await import("./serve-app.ts");
            await serveApp(stream, request, { ...deps, findApp }, life);
          },
        },
      };
    },
  };
}

/** At once, then repeatedly until the signal. */
function repeat(work: () => Promise<void>, signal: AbortSignal): void {
  let timer: NodeJS.Timeout | undefined;
  const next = (): void => {
    void work().finally(() => {
      if (!signal.aborted) timer = setTimeout(next, refreshMs).unref();
    });
  };
  signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
  next();
}
