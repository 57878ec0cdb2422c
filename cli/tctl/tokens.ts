import { readFile } from "node:fs/promises";
import { writeOfferLimits } from "../../core/api/offer-limits.ts";
import { configSnippet, type JoinFacts, joinLines } from "../../core/config/join-text.ts";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { isServedKind, type ServedKind, servedKinds } from "../../core/kinds/service-kinds.ts";
import { appNameText, appUriText } from "../../core/resources/app.ts";
import { formatDuration, parseDuration } from "../../core/resources/duration.ts";
import { type OfferLimits, type Token, tokenRoles } from "../../core/resources/token.ts";
import { askSecrets } from "../ask.ts";
import { readResource } from "../auth-lists.ts";
import type { Call } from "../command.ts";
import type { CliIo } from "../io.ts";
import { type Result, textResult } from "../output.ts";
import { renderTable } from "../table.ts";
import { withAdmin } from "./connect.ts";
import { listDocuments } from "./documents.ts";

/** `tctl tokens add`: a join token; its secret is printed once and stored nowhere. */
export async function addToken(call: Call): Promise<Result> {
  const { options } = call;
  const roles = options.list("type").map(joinRole);
  const ttl = options.text("ttl");
  const ttlSeconds = ttl === undefined ? 0 : parseDuration(ttl);
  const uses = countOption(options.text("uses"));
  const app = appOption(roles, options.text("appName"), options.text("appUri"));
  const resources = [...writeOfferLimits(readResourcesOption(options.list("resources")))];
  const given = options.text("value");
  const secret = given === undefined ? "" : await readSecretOption(call.io, given, "--value");
  return await withAdmin(call, async ({ client, proxyAddress }) => {
    // First: the secret is lost if the command fails after it was made.
    const { caPins, proxyPublicAddrs } = await client.getCluster({});
    const made = await client.createToken({ roles, ttlSeconds, uses, secret, resources });
    const token = readResource<Token>(made.token?.json ?? "");
    const facts = { secret: made.secret, caPins, proxyAddress: proxyAddress ?? proxyPublicAddrs[0] ?? "<proxy host:port>", roles, app };
    const snippet = configSnippet(facts);
    const expires = token.metadata.expires;
    const until = expires === undefined ? "" : ` It expires at ${expires}.`;
    const text = `Join token: ${made.secret}\nIt is shown only this once.${until}\n\n${joinText(facts)}${roles.join() === "node" ? "Which writes into" : "In"} /etc/platform.yaml of the host that joins:\n\n${snippet}`;
    const { name } = token.metadata;
    const data = { secret: made.secret, id: name, roles, expires: expires ?? null, ca_pins: caPins, config: snippet };
    return { data, text, ifLost: `the token ${name} was made, but its secret was not shown; remove it with: tctl tokens rm ${name}` };
  });
}

/** Commands that set up an agent with this token; other services are set up by their configuration file. */
function joinText(facts: JoinFacts): string {
  const lines = joinLines(facts);
  return lines.length === 0 ? "" : `On the host that joins, as root:\n\n${lines.join("\n")}\n\n`;
}

/** The reference's spelling is also accepted: Node, Proxy. */
function joinRole(text: string): string {
  const role = tokenRoles.find((one) => one === text.toLowerCase());
  if (role !== undefined) return role;
  throw new PlatformError("invalid", `--type: unknown role ${JSON.stringify(text)}`, { hint: `types: ${tokenRoles.join(", ")}` });
}

function countOption(text: string | undefined): number {
  if (text === undefined) return 0;
  if (/^[1-9]\d{0,5}$/.test(text)) return Number(text);
  throw new PlatformError("invalid", `--uses: ${JSON.stringify(text)} is not a number of hosts`, {
    hint: "give 1 to 999999, or leave it out for any number",
  });
}

/** The values of `--resources`: `kube/prod`, `db/orders-*`. Throws `invalid`. */
function readResourcesOption(values: readonly string[]): OfferLimits {
  const limits: { [Kind in ServedKind]?: string[] } = {};
  for (const value of values) {
    const [kind = "", ...rest] = value.split("/");
    const name = rest.join("/");
    if (!isServedKind(kind) || name === "") {
      throw new PlatformError("invalid", `--resources: ${JSON.stringify(value)} is not a kind and a name`, {
        hint: `for example: --resources=kube/prod,db/orders-*; kinds: ${servedKinds.join(", ")}`,
      });
    }
    limits[kind] = [...(limits[kind] ?? []), name];
  }
  return limits;
}

/** The application of `--app-name` and `--app-uri`. Throws `invalid`. */
function appOption(roles: readonly string[], name: string | undefined, uri: string | undefined): JoinFacts["app"] {
  if (name === undefined && uri === undefined) return undefined;
  const hint = "for example: --type=app --app-name=grafana --app-uri=http://localhost:3000";
  if (name === undefined || uri === undefined || !roles.includes("app"))
    throw new PlatformError("invalid", "--app-name and --app-uri go together, with --type=app", { hint });
  for (const [flag, fault] of [
    ["--app-name", appNameText.safeParse(name).error],
    ["--app-uri", appUriText.safeParse(uri).error],
  ] as const) {
    if (fault !== undefined) throw new PlatformError("invalid", `${flag} ${fault.issues[0]?.message ?? "is malformed"}`, { hint });
  }
  return { name, uri };
}

export async function listTokens(call: Call): Promise<Result> {
  return await withAdmin(call, async ({ client }) => {
    const tokens = await listDocuments<Token>(client, "token");
    return { data: tokens, text: tokensTable(tokens, new Date()) };
  });
}

export function tokensTable(tokens: readonly Token[], now: Date): string {
  const rows = tokens.map(({ metadata, spec }) => {
    const left = metadata.expires === undefined ? 0 : (new Date(metadata.expires).getTime() - now.getTime()) / 1000;
    const expiry = metadata.expires === undefined ? "never" : `${metadata.expires} (${left > 0 ? `in ${formatDuration(left)}` : "expired"})`;
    const limits = Object.entries(spec.resources ?? {}).flatMap(([kind, names]) => names.map((name) => `${kind}/${name}`));
    return [metadata.name, [...spec.roles, ...limits].join(","), spec.uses_left === undefined ? "any number" : String(spec.uses_left), expiry];
  });
  return renderTable(["Token", "Type", "Uses Left", "Expiry Time (UTC)"], rows);
}

export async function removeToken(call: Call): Promise<Result> {
  const name = call.args[0] ?? "";
  return await withAdmin(call, async ({ client }) => {
    await client.deleteResource({ kind: "token", name });
    return textResult(`Token ${name} has been deleted.`);
  });
}

/** A secret as `-` (standard input) or `@file`: on the command line every user of the host could read it. */
async function readSecretOption(io: CliIo, value: string, flag: string): Promise<string> {
  if (value === "-") return (await askSecrets(io, ["Secret"]))[0] ?? "";
  if (!value.startsWith("@")) {
    throw new PlatformError("invalid", `${flag}: a secret does not belong on the command line, where every user of this host can read it`, {
      hint: `write ${flag}=- to give it on standard input, or ${flag}=@file`,
    });
  }
  const file = value.slice(1);
  try {
    return (await readFile(file, "utf8")).trim();
  } catch (cause) {
    throw new PlatformError("invalid", `${flag}: could not read ${file}: ${(cause as Error).message}`, { cause });
  }
}
