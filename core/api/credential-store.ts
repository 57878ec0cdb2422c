import { constants } from "node:fs";
import { chmod, mkdir, open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { z } from "zod";
import { PlatformError } from "../errors/platform-error.ts";
import { hostRoleSchema } from "../resources/token.ts";
import { checkCredentials, type HostCredentials } from "./host-credentials.ts";

const text = z.string().min(1).max(65_536);
const texts = z.array(text).min(1).max(64);
const fileSchema = z.object({
  version: z.literal(1),
  hostId: z.uuid(),
  role: hostRoleSchema,
  cluster: text,
  sshPrivateKey: text,
  sshCertificate: text,
  tlsPrivateKey: text,
  tlsCertificate: text,
  hostCaPem: texts,
  userCaPem: texts,
  hostCaSsh: texts,
  userCaSsh: texts,
});

const startOver = (place: string): string =>
  `restore ${place} from a backup, or remove it and start again with a new join token: the host then joins as a new one`;

/**
 * Reads a host's credentials; `undefined` when there is no file. A file that others may read, or that is damaged, is refused
 * with what to do: joining again silently would hide the theft or the damage, and give the host another id.
 */
export async function loadCredentials(file: string): Promise<HostCredentials | undefined> {
  const content = await readPrivate(file);
  return content === undefined ? undefined : parseCredentials(content, file);
}

/** Reads stored credentials. Throws `invalid` if what `place` held is damaged. */
export function parseCredentials(content: string, place: string): HostCredentials {
  const damaged = (cause: unknown): PlatformError =>
    new PlatformError("invalid", `${place} is damaged: it holds no host credentials`, { hint: startOver(place), cause });
  let value: unknown;
  try {
    value = JSON.parse(content);
  } catch {
    // The parser's message would quote the file, which holds keys.
    throw damaged(undefined);
  }
  const parsed = fileSchema.safeParse(value);
  if (!parsed.success) throw damaged(new Error(`at ${parsed.error.issues[0]?.path.join(".") || "the top"}`));
  const { version: _version, ...credentials } = parsed.data;
  try {
    checkCredentials(credentials);
  } catch (cause) {
    throw damaged(cause);
  }
  return credentials;
}

/** Credentials as they are stored. */
export function writtenCredentials(credentials: HostCredentials): string {
  return `${JSON.stringify({ version: 1, ...credentials }, undefined, 2)}\n`;
}

/** Writes all or nothing: a crash leaves the old file or the new one. 0600 in a folder of 0700. */
export async function saveCredentials(file: string, credentials: HostCredentials): Promise<void> {
  const folder = dirname(file);
  // The name is unique to this process: for a while two of them may run.
  const fresh = `${file}.${process.pid}.new`;
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await chmod(folder, 0o700);
    await rm(fresh, { force: true });
    const handle = await open(fresh, "wx", 0o600);
    try {
      await handle.writeFile(writtenCredentials(credentials));
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(fresh, file);
    await using directory = await open(folder, constants.O_RDONLY);
    await directory.sync();
  } catch (cause) {
    throw new PlatformError("internal", `cannot write ${file}: ${(cause as Error).message}`, {
      cause,
      hint: "check the data folder's owner and free space",
    });
  }
}

async function readPrivate(file: string): Promise<string | undefined> {
  try {
    await using handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW);
    const { mode, uid, size } = await handle.stat();
    const own = process.getuid?.();
    if ((mode & 0o077) !== 0 || (uid !== own && uid !== 0)) {
      throw new PlatformError(
        "invalid",
        `${file} holds private keys, and others may read or change it (mode ${(mode & 0o777).toString(8)}, uid ${uid})`,
        {
          hint: `if the keys were not copied: chmod 600 ${file} && chown ${own} ${file}; otherwise remove the host with tctl and join again`,
        },
      );
    }
    if (size > 1_048_576) throw new PlatformError("invalid", `${file} is too long to hold host credentials`, { hint: startOver(file) });
    return await handle.readFile("utf8");
  } catch (cause) {
    if (cause instanceof PlatformError) throw cause;
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw new PlatformError("invalid", `cannot read ${file}: ${(cause as Error).message}`, {
      cause,
      hint: "run the agent as the user that owns its data folder",
    });
  }
}
