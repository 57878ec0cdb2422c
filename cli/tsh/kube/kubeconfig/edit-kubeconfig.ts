import { isDeepStrictEqual } from "node:util";
import { PlatformError } from "../../../../core/errors/platform-error.ts";
import type { KubeconfigEdit, ListEdit } from "./kubeconfig-edit.ts";
import { listNames, type ParsedKubeconfig, parseKubeconfig } from "./parse-kubeconfig.ts";
import { rewriteKubeconfig } from "./rewrite-kubeconfig.ts";
import { spliceKubeconfig } from "./splice-kubeconfig.ts";

/**
 * Changes a kubeconfig. In block style, as kubectl and people write it, every other byte stays; in flow style (JSON) the rest keeps its values, order and
 * comments. The result is read again: it is what was meant, or this throws. Throws `invalid`. Pure.
 */
export function editKubeconfig(text: string, edit: KubeconfigEdit, path: string): string {
  const parsed = parseKubeconfig(text, path);
  if (changesNothing(edit)) return text;
  const wanted = applied(parsed, edit);
  const isMeant = (changed: string | undefined): changed is string => {
    if (changed === undefined) return false;
    try {
      return isDeepStrictEqual(parseKubeconfig(changed, path).value, wanted);
    } catch {
      return false;
    }
  };
  const spliced = spliceKubeconfig(text, parsed, edit);
  if (isMeant(spliced)) return spliced;
  const rewritten = rewriteKubeconfig(parsed, edit);
  if (isMeant(rewritten)) return rewritten;
  throw new PlatformError("invalid", `could not change ${path} without changing other entries in it`, {
    hint: "give tsh a file of its own with: export KUBECONFIG=<new file>:<this file>",
  });
}

function changesNothing({ lists, currentContext }: KubeconfigEdit): boolean {
  const isEmpty = ({ remove, replace, append }: ListEdit): boolean => remove.length === 0 && replace.size === 0 && append.length === 0;
  return currentContext === undefined && listNames.every((list) => isEmpty(lists[list]));
}

/** What the changed file has to mean. */
function applied({ value, config }: ParsedKubeconfig, { lists, currentContext }: KubeconfigEdit): Readonly<Record<string, unknown>> {
  const result: Record<string, unknown> = { ...value };
  if (Object.keys(value).length === 0) Object.assign(result, { apiVersion: "v1", kind: "Config" });
  for (const list of listNames) {
    const { remove, replace, append } = lists[list];
    if (remove.length === 0 && replace.size === 0 && append.length === 0) continue;
    const kept = config[list].flatMap((entry, index) => (remove.includes(index) ? [] : [replace.get(index) ?? entry]));
    result[list] = [...kept, ...append];
  }
  if (currentContext !== undefined) result["current-context"] = currentContext;
  return result;
}
