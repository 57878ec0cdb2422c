import { z } from "zod";

/** Whether a host creates a missing Unix user at login, and whether it stays: `drop` removes it after its last session. */
export const hostUserModes = ["off", "drop", "keep"] as const;
export type HostUserMode = (typeof hostUserModes)[number];

/** Groups that mark the users that agents created, by mode. No role can grant them. */
export const markerGroups = { drop: "platform-system", keep: "platform-keep" } as const;

/** A Unix group name that every groupadd(8) accepts. */
export const hostGroupText = z
  .string()
  .regex(/^[a-z_][a-z0-9_-]{0,31}$/, "a group has 1 to 32 of the characters a-z 0-9 _ - and starts with a letter or _")
  .refine((name) => !Object.values<string>(markerGroups).includes(name), "marks the users that agents created and cannot be granted");

/** The rest of a sudoers(5) line after the user's name, such as `ALL=(root) NOPASSWD: /usr/bin/systemctl`; visudo(8) checks it on the host. */
export const sudoersText = z
  .string()
  .min(1)
  .max(1024)
  .regex(/^[^\p{Cc}#]*[^\p{Cc}#\\]$/u, "is one line without # that does not end in a backslash");
