import { maxApps } from "../../core/config/app-service.ts";
import { type App, appDocument } from "../../core/resources/app.ts";
import type { LabelMatchers } from "../../core/resources/role.ts";
import { offerResources } from "../service/offered-resources.ts";
import type { Service } from "../service/service.ts";
import type { OfferedApp } from "./offered-app.ts";

export interface AppConfig {
  readonly apps: readonly OfferedApp[];
  /** Labels of the cluster's `app` resources that are offered too. */
  readonly matchers: readonly LabelMatchers[];
}

/** Raw TCP applications that this host can reach. */
export function prepareApps({ apps: own, matchers }: AppConfig): Service {
  return {
    name: "app",
    open: async (deps, signal) => {
      const served = ({ metadata, spec }: App): OfferedApp => ({
        name: metadata.name,
        uri: spec.uri,
        labels: metadata.labels ?? {},
      });
      const offered = offerResources({ kind: "app", own, matchers, most: maxApps, document: appDocument, served }, deps, signal);
      return {
        offered,
        serve: {
          app: async (stream, request, life) => {
            const { serveApp } = await import("./serve-app.ts");
            await serveApp(stream, request, { ...deps, findApp: offered.find }, life);
          },
        },
      };
    },
  };
}
