import { resolve } from "node:path";
import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { Call } from "../../command.ts";
import { type Result, textResult } from "../../output.ts";
import { chosenProfile } from "../../profile/choose-profile.ts";
import { followProfile } from "../../profile/follow-profile.ts";
import type { Profile } from "../../profile/profile.ts";
import { withTrust } from "../../profile/reach-cluster.ts";
import { shellQuote } from "../../shell-quote.ts";
import { portOption } from "../served/local-port.ts";
import { openKubeTunnel, type TunnelKube } from "./kube-tunnel.ts";
import { chosenKubes, contextsOf } from "./list-kubes.ts";
import { writeTunnelKubeconfig } from "./tunnel-kubeconfig.ts";
import { tunnelPath } from "./tunnel-path.ts";

/** `tsh proxy kube [NAME…] --port`: a local port for Kubernetes clusters and a kubeconfig for it, until it is interrupted. */
export async function proxyKube(call: Call): Promise<Result> {
  const { io, options } = call;
  const profile = await chosenProfile(call);
  const kubes = await withTrust(call, profile, (trusting) => wantedKubes(call, trusting));
  const source = await followProfile(call, profile);
  await using tunnel = await openKubeTunnel(call, { kubes, source, port: portOption(options.text("port")) });
  const { cluster } = profile.facts;
  const given = options.text("kubeconfig");
  const path = given === undefined ? tunnelPath(io.env, cluster, tunnel.port) : resolve(given);
  const own = await contextsOf(call, profile);
  const contexts = kubes.map(({ name }) => {
    const known = own.find(({ kube }) => kube === name);
    const namespace = options.text("kubeNamespace") ?? known?.namespace;
    return { kube: name, name: known?.context, namespace, as: options.text("as"), asGroups: options.list("asGroups") };
  });
  const selected = own.find(({ isSelected, kube }) => isSelected && kubes.some(({ name }) => name === kube))?.kube ?? kubes[0]?.name;
  await using file = await writeTunnelKubeconfig({ path, cluster, contexts, select: selected }, tunnel);
  void file;
  io.stdout.write(`${tunnelText(kubes, { address: tunnel.address, path })}\n`);
  await untilInterrupted(tunnel.closed);
  return textResult("");
}

/** What `tsh proxy kube` prints. Pure. */
export function tunnelText(
  kubes: readonly Pick<TunnelKube, "name">[],
  { address, path }: { readonly address: string; readonly path: string },
): string {
  const names = kubes.map(({ name }) => name).join(", ");
  const what = kubes.length === 1 ? `Kubernetes cluster ${names} is` : `Kubernetes clusters ${names} are`;
  return `${what} on ${address} until this command ends (Ctrl-C).\nUse it with: export KUBECONFIG=${shellQuote([path])}`;
}

/** Those that were named, or have labels; of an identity file for one cluster that one; else those that the user logged in to. Throws `invalid`, `not_found`. */
async function wantedKubes(call: Call, profile: Profile): Promise<readonly TunnelKube[]> {
  const { args, options } = call;
  const { route } = profile.facts;
  // The auth service answers no question to a certificate for one resource; the proxy and the agent decide.
  if (route?.kind === "kube") return [{ name: route.name, hosts: [] }];
  const isFiltered = options.flag("all") || options.list("labels").length > 0 || options.text("query") !== undefined;
  const named = args.length > 0 || isFiltered ? args : (await contextsOf(call, profile)).map(({ kube }) => kube);
  if (named.length === 0 && !isFiltered) {
    throw new PlatformError("invalid", "no Kubernetes cluster was named, and you are not logged in to any", {
      hint: "give its name; `tsh kube ls` lists those that you may use",
    });
  }
  if (isFiltered) return await chosenKubes(call, profile);
  return await Promise.all(named.map(async (name) => (await chosenKubes({ ...call, args: [name] }, profile))[0] ?? { name, hosts: [] }));
}

/** Ctrl-C and a request to end, so that the kubeconfig goes too. */
async function untilInterrupted(closed: Promise<void>): Promise<void> {
  const { promise, resolve: end } = Promise.withResolvers<void>();
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  const onSignal = (): void => end();
  for (const signal of signals) process.on(signal, onSignal);
  try {
    await Promise.race([closed, promise]);
  } finally {
    for (const signal of signals) process.off(signal, onSignal);
  }
}
