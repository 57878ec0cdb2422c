import { z } from "zod";

/** Whether a host makes a missing Unix user at login, and whether it stays: `drop` removes it after its last session. */
export const hostUserModes = ["off", "drop", "keep"] as const;
export type HostUserMode = (typeof hostUserModes)[number];

/** Groups that mark the users that agents made, by what is to become of them. No role can hand them out. */
export const markerGroups = { drop: "platform-system", keep: "platform-keep" } as const;

/** A Unix group as groupadd(8) takes it everywhere. */
export const hostGroupText = z
  .string()
  .regex(/^[a-z_][a-z0-9_-]{0,31}$/, "a group has 1 to 32 of the characters a-z 0-9 _ - and starts with a letter or _")
  .refine((name) => !Object.values<string>(markerGroups).includes(name), "marks the users that agents made and cannot be handed out");

/** What stands behind the user's name in a line of sudoers(5), such as `ALL=(root) NOPASSWD: /usr/bin/systemctl`. One line, that visudo(8) checks on the host. */
export const sudoersText = z
  .string()
  .min(1)
  .max(1024)
  .regex(/^[^\p{Cc}#]*[^\p{Cc}#\\]$/u, "is one line without # that does not end in a backslash");
