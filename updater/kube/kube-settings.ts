import { parseArgs } from "node:util";
import { PlatformError } from "../../core/errors/platform-error.ts";
import type { LogLevel } from "../../core/log/log.ts";
import { type HostPort, parseHostPort } from "../../core/transport/host-port.ts";
import { parseVersion } from "../../core/versions/compare-versions.ts";
import { type Endpoint, parseEndpoint } from "../settings.ts";
import { UpgradeError } from "../tick/upgrade-error.ts";
import type { WorkloadKind } from "./cluster/workload.ts";
import { parseImage } from "./images/image-reference.ts";

/** Settings of the controller, from its command line, which the chart writes. */
export interface KubeSettings {
  readonly name: string;
  /** Undefined: that of the pod. */
  readonly namespace: string | undefined;
  readonly container: string;
  /** Undefined: whichever there is. */
  readonly kind: WorkloadKind | undefined;
  readonly proxy: HostPort;
  readonly endpoint: Endpoint;
  readonly mode: "apply" | "suggest";
  readonly minimum: string | undefined;
  readonly baseImage: string | undefined;
  /** Files of public keys, PEM; images must be signed by one of them. Undefined: signatures are not checked. */
  readonly publicKeys: readonly string[] | undefined;
  readonly pullCredentials: string | undefined;
  readonly plainRegistries: readonly string[];
  readonly ca: string | undefined;
  readonly metrics: HostPort;
  readonly health: HostPort;
  readonly logLevel: LogLevel;
}

const logLevels = ["debug", "info", "warn", "error"] as const;

export const kubeUsage = `platform-upgrade kube keeps the agents of one release in Kubernetes at the version that their cluster wants.

  --agent-name NAME        the release: name of its StatefulSet or Deployment
  --agent-kind KIND        statefulset or deployment; default: whichever there is
  --agent-namespace NAME   its namespace; default: that of this pod
  --proxy-address H:P      the cluster's proxy
  --channel NAME           version channel; default: default
  --version-server H/PATH  another version server than the proxy
  --public-key FILE        PEM; images must be signed by one of them; may be repeated
  --insecure-no-verify     accept images without checking signatures
  --base-image NAME        registry/repository of the images; default: that of the running one
  --container-name NAME    default: platform
  --mode apply|suggest     suggest: only write which image another tool should set
  --minimum-version V      never install a lower one
  --pull-credentials FILE  a .dockerconfigjson for the registry
  --ca FILE                PEM; additional authorities for proxy, version server and registry
  --registry-plain H:P     a registry without TLS; may be repeated
  --metrics-addr H:P       default: 0.0.0.0:8080
  --healthz-addr H:P       default: 0.0.0.0:8081
  --log-level LEVEL        debug, info, warn or error; default: info`;

const options = {
  "agent-name": { type: "string" },
  "agent-kind": { type: "string" },
  "agent-namespace": { type: "string" },
  "proxy-address": { type: "string" },
  channel: { type: "string", default: "default" },
  "version-server": { type: "string" },
  "public-key": { type: "string", multiple: true },
  "insecure-no-verify": { type: "boolean", default: false },
  "base-image": { type: "string" },
  "container-name": { type: "string", default: "platform" },
  mode: { type: "string", default: "apply" },
  "minimum-version": { type: "string" },
  "pull-credentials": { type: "string" },
  ca: { type: "string" },
  "registry-plain": { type: "string", multiple: true },
  "metrics-addr": { type: "string", default: "0.0.0.0:8080" },
  "healthz-addr": { type: "string", default: "0.0.0.0:8081" },
  "log-level": { type: "string", default: "info" },
} as const;

/** Throws `invalid` naming the flag. Pure. */
export function parseKubeSettings(args: readonly string[]): KubeSettings {
  const values = valuesOf(args);
  const name = values["agent-name"] ?? refuse("agent-name", "is missing");
  const proxy = parseHostPort(values["proxy-address"] ?? refuse("proxy-address", "is missing"), 443, "--proxy-address");
  const publicKeys = values["public-key"] ?? [];
  if (publicKeys.length === 0 && !values["insecure-no-verify"])
    refuse("public-key", "is missing: images must be signed; --insecure-no-verify accepts any that the registry has");
  return {
    name: nameOf("agent-name", name),
    namespace: values["agent-namespace"] === undefined ? undefined : nameOf("agent-namespace", values["agent-namespace"]),
    container: nameOf("container-name", values["container-name"]),
    kind: kindOf(values["agent-kind"]),
    proxy,
    endpoint: endpointOf(values["version-server"], { proxy, channel: values.channel }),
    mode: oneOf("mode", values.mode, ["apply", "suggest"] as const),
    minimum: minimumOf(values["minimum-version"]),
    baseImage: baseImageOf(values["base-image"]),
    publicKeys: values["insecure-no-verify"] ? undefined : publicKeys,
    pullCredentials: values["pull-credentials"],
    plainRegistries: values["registry-plain"] ?? [],
    ca: values.ca,
    metrics: addressOf("metrics-addr", values["metrics-addr"]),
    health: addressOf("healthz-addr", values["healthz-addr"]),
    logLevel: oneOf("log-level", values["log-level"].toLowerCase(), logLevels),
  };
}

function valuesOf(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options, strict: true, allowPositionals: false }).values;
  } catch (cause) {
    throw new PlatformError("invalid", cause instanceof Error ? cause.message : String(cause), { cause });
  }
}

function refuse(flag: string, why: string): never {
  throw new PlatformError("invalid", `--${flag} ${why}`);
}

/** A name of Kubernetes, as it stands in paths. */
function nameOf(flag: string, text: string): string {
  return /^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/.test(text)
    ? text
    : refuse(flag, `is ${JSON.stringify(text.slice(0, 80))}, which is not a name of Kubernetes`);
}

function oneOf<Value extends string>(flag: string, text: string, values: readonly Value[]): Value {
  return values.find((value) => value === text) ?? refuse(flag, `is one of ${values.join(", ")}, not ${JSON.stringify(text.slice(0, 80))}`);
}

function kindOf(text: string | undefined): WorkloadKind | undefined {
  if (text === undefined) return undefined;
  return oneOf("agent-kind", text.toLowerCase(), ["statefulset", "deployment"] as const) === "statefulset" ? "StatefulSet" : "Deployment";
}

function addressOf(flag: string, text: string): HostPort {
  return parseHostPort(text.startsWith(":") ? `0.0.0.0${text}` : text, undefined, `--${flag}`);
}

function endpointOf(server: string | undefined, { proxy, channel }: { proxy: HostPort; channel: string }): Endpoint {
  const channelPath = channel.split("/").map(encodeURIComponent).join("/");
  const path = `/v1/webapi/automaticupgrades/channel/${channelPath}`;
  if (server === undefined || server === "") return { ...proxy, path, channel: channel.slice(0, 128) };
  try {
    return { ...parseEndpoint(server.replace(/^https:\/\//, ""), "--version-server"), channel: channel.slice(0, 128) };
  } catch (thrown) {
    throw thrown instanceof UpgradeError ? new PlatformError("invalid", thrown.message, { cause: thrown }) : thrown;
  }
}

function minimumOf(text: string | undefined): string | undefined {
  if (text === undefined || text === "") return undefined;
  return parseVersion(text)?.text ?? refuse("minimum-version", `is ${JSON.stringify(text.slice(0, 64))}, which is not a version`);
}

function baseImageOf(text: string | undefined): string | undefined {
  if (text === undefined || text === "") return undefined;
  const image = parseImage(text);
  if (image === undefined || image.tag !== undefined || image.digest !== undefined)
    return refuse("base-image", "is registry/repository, without tag or digest");
  return image.name;
}
