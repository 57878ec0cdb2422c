import type { CommandSpec, OptionSpec } from "../../command.ts";
import { databaseFilterOptions } from "../../host-filter.ts";
import { identityOption } from "../../shared-commands.ts";

const names: readonly OptionSpec[] = [
  {
    flags: "--db-user <name>",
    text: "account at the database; default: that of tsh db login, or the only one that your roles list, or what the client says",
  },
  {
    flags: "--db-name <name>",
    text: "logical database; default: that of tsh db login, or the only one that your roles list, or what the client says",
  },
];

const loginNames: readonly OptionSpec[] = [
  { flags: "--db-user <name>", text: "account at the database; default: the only one that your roles list" },
  { flags: "--db-name <name>", text: "logical database; default: the only one that your roles list" },
];

/** Commands for databases, except `tsh proxy db`. A name may be cut short while it stays unique. */
export function dbCommands(proxy: OptionSpec): readonly CommandSpec[] {
  return [
    {
      name: "db",
      summary: "databases behind agents",
      commands: [listCommand(proxy), ...loginCommands(proxy), ...settingsCommands(proxy), connectCommand(proxy), execCommand(proxy)],
    },
  ];
}

function listCommand(proxy: OptionSpec): CommandSpec {
  return {
    name: "ls",
    summary: "list the databases that you may use",
    details:
      "List the databases that connected agents offer and that your roles allow (db_labels). A > marks those that you logged in to\n(tsh db login), with account and logical database. Agents check their databases every half minute: one is healthy when an\nagent reaches it.",
    args: ["[label or word...]"],
    options: [...databaseFilterOptions, identityOption, proxy],
    formats: ["text", "json", "yaml", "names"],
    examples: ["tsh db ls", "tsh db ls env=prod --search=orders", "tsh db ls -f json | jq -r '.[].name'"],
    run: async (call) => (await import("./db.ts")).listDatabases(call),
  };
}

function loginCommands(proxy: OptionSpec): readonly CommandSpec[] {
  return [
    {
      name: "login",
      summary: "log in to a database, and set its clients up",
      details:
        "Get a certificate for this database only, valid as long as the login, and remember the names for\nother commands. Settings for clients go to ~/.pg_service.conf (PGSERVICEFILE), [<cluster>-<name>],\nor to ~/.my.cnf, groups ending in _<cluster>-<name>; the rest of these files stays as it is.\nThey name a local port, which tsh proxy db <name> --port=<port> opens.",
      args: ["<name>"],
      options: [
        ...loginNames,
        { flags: "--port <port>", text: "local port for clients; default: one between 20000 and 29999 that stays the same" },
        proxy,
      ],
      formats: ["text", "json", "yaml"],
      examples: ["tsh db login orders --db-user=reader --db-name=orders", "psql service=example.com-orders"],
      run: async (call) => (await import("./login-database.ts")).loginDatabase(call),
    },
    {
      name: "logout",
      summary: "delete certificates and settings for databases",
      details: "Delete the certificate for a database, and its settings for clients;\nwithout a name those of all databases of the cluster.",
      args: ["[name]"],
      options: [proxy],
      formats: ["text", "json", "yaml"],
      examples: ["tsh db logout orders", "tsh db logout"],
      run: async (call) => (await import("./login-database.ts")).logoutDatabase(call),
    },
  ];
}

function settingsCommands(proxy: OptionSpec): readonly CommandSpec[] {
  return [
    {
      name: "env",
      summary: "print variables for psql, mysql and other clients",
      details:
        "Print variables of the environment for a shell, after tsh db login: PGHOST and others for psql,\nMYSQL_GROUP_SUFFIX for mysql and mariadb. They name a local port: clients reach the database\nwhile tsh proxy db <name> --port=<port> runs. With --direct they name the proxy's own port and the\nfiles of the login: clients need no tsh then.",
      args: ["<name>"],
      options: [{ flags: "--direct", text: "for the proxy's own port, without tsh" }, proxy],
      formats: ["text", "json", "yaml"],
      examples: ['eval "$(tsh db env orders)" && pg_dump > orders.sql'],
      run: async (call) => (await import("./show-login.ts")).showEnvironment(call),
    },
    {
      name: "config",
      summary: "print the settings for a client",
      details:
        "Print host, port, names and files of a database, after tsh db login. Clients reach the database\nwhile tsh proxy db <name> --port=<port> runs; that port needs no certificate.\nWhere the proxy has a port for the database's clients, the command for that one is there too.\nThe format cmd prints the client's command.",
      args: ["<name>"],
      options: [proxy],
      formats: ["text", "cmd", "json", "yaml"],
      examples: ["tsh db config orders", "$(tsh db config --format=cmd orders)"],
      run: async (call) => (await import("./show-login.ts")).showConfig(call),
    },
  ];
}

function connectCommand(proxy: OptionSpec): CommandSpec {
  return {
    name: "connect",
    summary: "run the database's own client on a database",
    details:
      "Run psql, mysql or mariadb, mongosh or redis-cli on a database, through a local port that exists as long as the client runs.\nArguments after the name go to the client, but for the long options below; after a -- all of them.\nThe exit status is the client's own.",
    args: ["<name>", "[client argument...]"],
    passThrough: true,
    longOptionsAmong: true,
    options: [...names, identityOption, proxy],
    examples: ["tsh db connect orders --db-user=reader --db-name=orders", "tsh db connect orders --db-user=reader -c 'select 1'"],
    run: async (call) => (await import("./connect-database.ts")).connectDatabase(call),
  };
}

function execCommand(proxy: OptionSpec): CommandSpec {
  return {
    name: "exec",
    summary: "run a statement at several databases",
    details:
      "Run a statement at databases of PostgreSQL and MySQL by psql and mariadb or mysql, several at a\ntime. With several databases each line begins with [name]. With --output-dir each has a file\n<name>.out there, and summary.json lists the results. The exit status is the highest one.",
    args: ["<sql>"],
    options: [
      { flags: "--dbs <names>", text: "databases, separated by commas", multiple: true },
      { flags: "--labels <labels>", text: "databases with all of these labels, key=value, separated by commas", multiple: true },
      { flags: "--parallel <number>", text: "how many databases at a time, 1 to 100; default 10" },
      { flags: "--output-dir <folder>", text: "folder for a file of each database, and summary.json; existing ones are overwritten" },
      ...names,
      identityOption,
      proxy,
    ],
    examples: [
      "tsh db exec 'select version()' --dbs=orders,shop",
      "tsh db exec 'select count(*) from users' --labels=env=prod --db-user=reader --output-dir=results",
    ],
    run: async (call) => (await import("./exec-database.ts")).execOnDatabases(call),
  };
}

/** `tsh proxy db`. */
export function proxyDbCommand(proxy: OptionSpec): CommandSpec {
  return {
    name: "db",
    summary: "reach a database at a local port",
    details:
      "Listen on a port of 127.0.0.1 and pass each connection to the database, until the command is\ninterrupted. The connection to the port needs no password and no TLS; from there on it is encrypted\nup to the database. After another tsh login of the same user, new connections use the new login.",
    args: ["<name>"],
    options: [
      { flags: "--port <port>", text: "local port; default: any free port" },
      { flags: "--tunnel", text: "has no effect: the port always needs no certificate" },
      { flags: "--db-user <name>", text: "the only account for clients of the port; default: what the client says" },
      { flags: "--db-name <name>", text: "the only logical database for clients of the port; default: what the client says" },
      identityOption,
      proxy,
    ],
    examples: ["tsh proxy db orders --port=5432", "tsh proxy db orders --port=5432 --db-user=reader --db-name=orders"],
    run: async (call) => (await import("./db.ts")).proxyDatabase(call),
  };
}
