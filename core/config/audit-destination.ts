import { isAbsolute, normalize } from "node:path";
import { z } from "zod";
import { parseDuration } from "../resources/duration.ts";
import { orList, wholeNumber } from "./setting.ts";

/** A destination to which audit events are shipped as JSON lines; `uri` is its name. */
export type AuditDestination =
  | { readonly kind: "file"; readonly uri: string; readonly path: string }
  | { readonly kind: "journald"; readonly uri: string; readonly socket: string };

/** Socket of journald for streams of lines. */
const journalSocket = "/run/systemd/journal/stdout";

const destination = z.string().transform((uri, context): AuditDestination => {
  const [, scheme, path = ""] = /^(file|journald):\/\/(\/[^?#]*)?$/.exec(uri) ?? [];
  const isWhole = isAbsolute(path) && normalize(path) === path && !path.endsWith("/");
  if (scheme === "file" && isWhole) return { kind: "file", uri, path };
  if (scheme === "journald" && (path === "" || isWhole)) return { kind: "journald", uri, socket: path === "" ? journalSocket : path };
  context.addIssue({ code: "custom", message: "must be file:///an/absolute/path or journald://" });
  return z.NEVER;
});

const units: Readonly<Record<string, number>> = { KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 };

const size = z.string().transform((text, context) => {
  const [, amount = "", unit = ""] = /^(\d{1,6})(KiB|MiB|GiB)$/.exec(text) ?? [];
  const bytes = Number(amount) * (units[unit] ?? 0);
  if (bytes >= 65_536) return bytes;
  context.addIssue({ code: "custom", message: 'must be a size of at least 64KiB, such as "100MiB"' });
  return z.NEVER;
});

const retention = z.string().transform((text, context) => {
  try {
    const seconds = parseDuration(text);
    if (seconds >= 86_400) return seconds;
  } catch {
    // The issue below has the expected form.
  }
  context.addIssue({ code: "custom", message: 'must be a duration of at least a day, such as "365d"' });
  return z.NEVER;
});

/** `platform.storage`, for the auth service. */
export const storageSchema = z.strictObject({
  audit_events_uri: orList(destination)
    .refine((all) => new Set(all.map(({ uri }) => uri)).size === all.length, "must not name the same place twice")
    .default([]),
  /** Retention of events in data_dir, seconds. */
  audit_retention: retention.prefault("365d"),
  /** Size at which a file is rotated, bytes; and number of rotated files that are kept. */
  audit_file_size: size.prefault("100MiB"),
  audit_files: wholeNumber("files", { least: 1, most: 1000 }).default(10),
});
export type StorageConfig = z.infer<typeof storageSchema>;
