import type { ServedAsk } from "../../core/access/ask.ts";
import { parseObject } from "../../core/access/kube/parse-object.ts";
import { askWhy } from "../../core/api/explain-access.ts";
import { PlatformError } from "../../core/errors/platform-error.ts";
import { type ServiceKind, serviceNames } from "../../core/kinds/service-kinds.ts";
import type { Call } from "../command.ts";
import type { Result } from "../output.ts";
import { renderTable } from "../table.ts";
import { withAdmin } from "./connect.ts";

/** Kinds of resources as people write them before a name. */
const spellings: Readonly<Record<string, ServiceKind>> = { node: "ssh", host: "ssh" };

/** `tctl access explain <user> <kind>/<name>`: whether a user may have an access, and what each role says. */
export async function explainAccess(call: Call): Promise<Result> {
  const { args, options } = call;
  const [user = "", target = ""] = args;
  const place = parseTarget(target);
  const names = { login: options.text("login"), dbUser: options.text("dbUser"), dbName: options.text("dbName") };
  const question = { user, ...place, ...names, request: requestOf(call, place.kind) };
  return await withAdmin(call, async ({ client }) => {
    const found = await askWhy(client, { ...question, now: new Date() });
    const table = renderTable(
      ["Role", "Says", "Why"],
      found.roles.map(({ role, says, why = "" }) => [role, says, why]),
    );
    return { data: found, text: `${found.allowed ? "Allowed" : "Denied"}: ${found.reason}\n\n${table}` };
  });
}

/** What is done at a Kubernetes cluster, by the command's options; undefined: nothing in particular. Throws `invalid`. */
function requestOf({ options }: Call, kind: ServiceKind): ServedAsk["request"] {
  const [verb, objects] = [options.text("verb"), options.text("kind")];
  if (verb === undefined && objects === undefined) return undefined;
  if (kind !== "kube" || verb === undefined || objects === undefined) {
    throw new PlatformError("invalid", "--verb and --kind go together, for kube/<name>", {
      hint: "such as --verb=get --kind=pod --namespace=a --name=web-1",
    });
  }
  const wanted = { user: options.text("as"), groups: options.list("asGroup") };
  return { ask: parseObject({ verb, kind: objects, namespace: options.text("namespace"), name: options.text("name") }), wanted };
}

/** `web-1` is a host; others are written with their kind. Throws `invalid`. */
export function parseTarget(text: string): { readonly kind: ServiceKind; readonly name: string } {
  const slash = text.indexOf("/");
  if (slash < 0) return { kind: "ssh", name: text };
  const [word, name] = [text.slice(0, slash), text.slice(slash + 1)];
  const kind = serviceNames.find((one) => one === word) ?? (Object.hasOwn(spellings, word) ? spellings[word] : undefined);
  if (kind !== undefined && name !== "") return { kind, name };
  throw new PlatformError("invalid", `${JSON.stringify(text.slice(0, 128))} is not a resource that users reach`, {
    hint: "write the name of a host, app/<name>, db/<name> or kube/<name>",
  });
}
