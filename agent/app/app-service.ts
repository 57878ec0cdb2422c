import { type ConfiguredApp, maxApps, type TargetPolicy } from "../../core/config/app-service.ts";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { type App, appDocument } from "../../core/resources/app.ts";
import type { LabelMatchers } from "../../core/resources/role.ts";
import { offerResources } from "../service/offered-resources.ts";
import type { Service } from "../service/service.ts";
import { AppSessions } from "./audit/app-sessions.ts";
import { detailsOf, dumperApp, type OfferedApp, offeredApp } from "./offered-app.ts";
import { appTargets, type Targets } from "./target-policy.ts";
import { tokenSigner } from "./token-signer.ts";

export interface AppConfig {
  readonly apps: readonly ConfiguredApp[];
  /** Whether it offers the application that shows its requests. */
  readonly hasDumper: boolean;
  /** Labels of the cluster's `app` resources that are offered too. */
  readonly matchers: readonly LabelMatchers[];
  readonly targetPolicy: TargetPolicy;
}

/** Applications that this host can reach: over HTTP, or raw TCP. Throws `invalid`. */
export function prepareApps({ apps, hasDumper, matchers, targetPolicy }: AppConfig): Service {
  const own = [...apps.map(({ name, labels, ...spec }) => offeredApp(name, labels, spec)), ...(hasDumper ? [dumperApp()] : [])];
  const targets = appTargets(targetPolicy);
  return {
    name: "app",
    open: async (deps, signal) => {
      const served = (resource: App): OfferedApp => clusterApp(resource, targets);
      const sources = { kind: "app", own, matchers, most: maxApps, document: appDocument, served, details: detailsOf } as const;
      const offered = offerResources(sources, deps, signal);
      const sessions = new AppSessions(deps, signal);
      const signToken = tokenSigner(deps, signal);
      return {
        offered,
        serve: {
          app: async (stream, request, life) => {
            const { serveApp } = await import("./serve-app.ts");
            await serveApp(stream, request, { ...deps, findApp: offered.find, targets, signToken, sessions }, life);
          },
        },
      };
    },
  };
}

/** An application of the cluster. Throws `invalid` for one that this version cannot read, `denied` for a socket that the file does not list. */
function clusterApp({ metadata, spec }: App, targets: Targets): OfferedApp {
  const { required_app_names: required, ...settings } = spec;
  const app = offeredApp(metadata.name, metadata.labels ?? {}, { ...settings, ...(required && { required_apps: required }) });
  if (app.address.scheme !== "unix" || targets.allowsSocket(app.address.socketPath)) return app;
  const hint = "list the path in app_service.target_policy.unix of the agent";
  throw new PlatformError("denied", `it is at the Unix socket ${app.address.socketPath}, which this agent does not list; ${hint}`, { hint });
}
