import { open } from "node:fs/promises";
import { isAbsolute, resolve } from "node:path";
import { parseConfig } from "../../core/config/parse-config.ts";
import { problemsError } from "../../core/config/problem.ts";
import { errorText, PlatformError } from "../../core/errors/platform-error.ts";
import type { CommandSpec, Options } from "../command.ts";
import { type Result, textResult } from "../output.ts";
import { type ConfigWishes, configText, type Role, roles } from "./config-text.ts";

const defaultFile = "/etc/platform.yaml";

export const configureCommand: CommandSpec = {
  name: "configure",
  summary: "write a commented configuration file",
  details: "Writes a commented configuration file that `platform start` accepts.",
  options: [
    { flags: "-o, --output <where>", text: `stdout, file (${defaultFile}) or a path; default stdout` },
    { flags: "--force", text: "replace a file that is there" },
    { flags: "--roles <roles>", text: "services to enable: auth, proxy, node; default auth,proxy, or node with --proxy" },
    { flags: "--nodename <name>", text: "name of this host in the cluster" },
    { flags: "--data-dir <folder>", text: "where state is kept" },
    { flags: "--token <token>", text: "join token, or better the absolute path of a file that holds it" },
    { flags: "--ca-pin <pins>", text: "CA pin of the cluster; several with commas" },
    { flags: "--proxy <address>", text: "the proxy that an agent joins through" },
    { flags: "--auth-server <address>", text: "the auth service that a proxy on its own host joins" },
    { flags: "--cluster-name <name>", text: "name of the cluster" },
    { flags: "--public-addr <address>", text: "how clients and agents reach the proxy" },
    { flags: "--cert-file <file>", text: "certificate chain for the web address" },
    { flags: "--key-file <file>", text: "its private key" },
    { flags: "--packages-dir <folder>", text: "package repositories for the proxy to serve, as `make repository` writes them" },
    { flags: "--labels <labels>", text: "labels of this host: key=value, several with commas" },
  ],
  examples: [
    "platform configure --output=file --cluster-name=example.com --public-addr=proxy.example.com:3080",
    "platform configure --output=file --proxy=proxy.example.com:3080 --token=/etc/platform.token --ca-pin=sha256:…",
  ],
  run: async ({ options }) => await configure(options),
};

async function configure(options: Options): Promise<Result> {
  const text = configText(wishes(options));
  const { problems } = parseConfig(text);
  if (problems.length > 0) throw problemsError("the file that these options make", problems);
  const where = options.text("output") ?? "stdout";
  if (where === "stdout") return textResult(text);
  const file = where === "file" ? defaultFile : resolve(where.replace(/^file:\/\//, ""));
  await writeNew(file, text, options.flag("force"));
  return { data: { file }, text: `wrote ${file}\nstart it with: ${startLine(file)}` };
}

/** The service reads the default file; the packages bring it. */
function startLine(file: string): string {
  return file === defaultFile ? "systemctl enable --now platform" : `platform start --config ${file}`;
}

function wishes(options: Options): ConfigWishes {
  const [certFile, keyFile] = [options.text("certFile"), options.text("keyFile")];
  for (const path of [certFile, keyFile]) {
    if (path !== undefined && !isAbsolute(path)) throw new PlatformError("invalid", `${path} must be an absolute path`);
  }
  const packagesDir = options.text("packagesDir");
  if (packagesDir !== undefined && !isAbsolute(packagesDir)) throw new PlatformError("invalid", `${packagesDir} must be an absolute path`);
  if ((certFile === undefined) !== (keyFile === undefined)) throw new PlatformError("invalid", "--cert-file and --key-file belong together");
  const named = options.list("roles");
  const proxy = options.text("proxy");
  return {
    roles: named.length > 0 ? named.map(parseRole) : proxy === undefined ? ["auth", "proxy"] : ["node"],
    nodename: options.text("nodename"),
    dataDir: options.text("dataDir"),
    token: options.text("token"),
    caPins: options.list("caPin"),
    proxy,
    authServer: options.text("authServer"),
    clusterName: options.text("clusterName"),
    publicAddr: options.text("publicAddr"),
    certFile,
    keyFile,
    packagesDir,
    labels: Object.fromEntries(options.list("labels").map(parseLabel)),
  };
}

function parseRole(text: string): Role {
  const role = roles.find((one) => one === text);
  if (role === undefined) throw new PlatformError("invalid", `${JSON.stringify(text)} is not a role`, { hint: `roles are ${roles.join(", ")}` });
  return role;
}

function parseLabel(text: string): [string, string] {
  const at = text.indexOf("=");
  if (at < 1) throw new PlatformError("invalid", `${JSON.stringify(text)} is not a label`, { hint: "write it as key=value" });
  return [text.slice(0, at), text.slice(at + 1)];
}

/** The file may hold a token: only its owner reads it. */
async function writeNew(file: string, text: string, replace: boolean): Promise<void> {
  try {
    await using handle = await open(file, replace ? "w" : "wx", 0o600);
    await handle.chmod(0o600);
    await handle.writeFile(text);
    await handle.sync();
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "EEXIST") {
      throw new PlatformError("already_exists", `${file} is there already`, { hint: "--force replaces it", cause });
    }
    throw new PlatformError("unavailable", `${file} cannot be written: ${errorText(cause)}`, { cause });
  }
}
