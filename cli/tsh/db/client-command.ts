import { PlatformError } from "../../../core/errors/platform-error.ts";
import { loopback } from "../served/local-port.ts";

/** How a database's own client is started on a local port. */
export interface ClientCommand {
  readonly program: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Debian's package; undefined: Debian has none. */
  readonly package: string | undefined;
}

/** Where a client goes, and as whom. */
export interface ClientTarget {
  readonly port: number;
  /** Empty: not stated. */
  readonly user: string;
  readonly name: string;
  /** A cluster of Redis or Valkey. */
  readonly isCluster?: boolean | undefined;
}

/** The clients of a protocol in the order of preference. Throws `unsupported`. Pure. */
export function clientCommands(protocol: string, { port, user, name, isCluster }: ClientTarget): readonly ClientCommand[] {
  const address = String(port);
  const given = (flag: string, value: string): readonly string[] => (value === "" ? [] : [`${flag}${value}`]);
  switch (protocol) {
    case "postgres": {
      const pairs = { host: loopback, port: address, user, dbname: name, sslmode: "disable", gssencmode: "disable" };
      return [{ program: "psql", args: [conninfo(pairs)], package: "postgresql-client" }];
    }
    case "mysql": {
      const args = ["--protocol=TCP", `--host=${loopback}`, `--port=${address}`, ...given("--user=", user), ...given("--database=", name)];
      return [
        { program: "mariadb", args: [...args, "--skip-ssl"], package: "mariadb-client" },
        { program: "mysql", args: [...args, "--ssl-mode=DISABLED"], package: "default-mysql-client" },
      ];
    }
    case "mongodb":
      return [
        { program: "mongosh", args: [`mongodb://${loopback}:${address}/${encodeURIComponent(name)}?directConnection=true`], package: undefined },
      ];
    case "redis":
      return [
        {
          program: "redis-cli",
          args: [...(isCluster === true ? ["-c"] : []), "-h", loopback, "-p", address, ...(name === "" ? [] : ["-n", name])],
          package: "redis-tools",
        },
      ];
    default:
      if (protocol === "") {
        throw new PlatformError("unsupported", "the protocol of the database is not known with a certificate for one resource", {
          hint: "use the database's own client on the port of: tsh proxy db --port=<port> <name>",
        });
      }
      throw new PlatformError("unsupported", `this tsh does not know the protocol ${JSON.stringify(protocol)}`, {
        hint: "upgrade tsh, or use: tsh proxy db <name>",
      });
  }
}

/** Arguments for a client to run these statements and end, with the first failure at the latest. Throws `unsupported`. Pure. */
export function statementArguments(protocol: string, sql: string): readonly string[] {
  if (protocol === "postgres") return ["--no-psqlrc", "--no-password", "--set=ON_ERROR_STOP=1", `--command=${sql}`];
  if (protocol === "mysql") return ["--batch", `--execute=${sql}`];
  throw new PlatformError("unsupported", `tsh db exec is for postgres and mysql, not for ${protocol === "" ? "this protocol" : protocol}`, {
    hint: "use tsh db connect",
  });
}

/** A connection string of libpq: values in quotes where necessary, empty ones left out. */
export function conninfo(pairs: Readonly<Record<string, string>>): string {
  return Object.entries(pairs)
    .filter(([, value]) => value !== "")
    .map(([key, value]) => (/^[A-Za-z0-9_.-]+$/.test(value) ? `${key}=${value}` : `${key}='${value.replaceAll(/['\\]/g, "\\$&")}'`))
    .join(" ");
}
