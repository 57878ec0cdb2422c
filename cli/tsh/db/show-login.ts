import { PlatformError } from "../../../core/errors/platform-error.ts";
import type { Call } from "../../command.ts";
import type { Result } from "../../output.ts";
import { loadFacts, proxyOption } from "../../profile/choose-profile.ts";
import type { ProfileFacts } from "../../profile/profile.ts";
import { tshHome } from "../../profile/profile-folder.ts";
import { type DatabaseLogin, databaseLogins } from "./database-logins.ts";
import { clientIdentity } from "./direct-clients.ts";
import { findLogin } from "./login-database.ts";
import { configView, directEnvironmentView, environmentView } from "./login-view.ts";

/** `tsh db env NAME [--direct]`. Throws `unsupported` for a protocol whose clients read no variables, and where the proxy has no port for them. */
export async function showEnvironment(call: Call): Promise<Result> {
  const { facts, login } = await storedLogin(call);
  const isDirect = call.options.flag("direct");
  const files = clientIdentity(tshHome(call.io.env), facts.proxy, login.name);
  const view = isDirect ? directEnvironmentView(facts.cluster, login, files) : environmentView(facts.cluster, login);
  if (view !== undefined) return view;
  if (isDirect && login.direct === "") {
    throw new PlatformError("unsupported", `the proxy has no port for clients of ${login.protocol} without tsh`, {
      hint: "leave --direct out; or ask the proxy's admin for one, and log in to the database again",
    });
  }
  throw new PlatformError("unsupported", `clients of ${login.protocol} read no variables of the environment`, {
    hint: `use: tsh db connect ${login.name}; tsh db config ${login.name}`,
  });
}

/** `tsh db config NAME`. */
export async function showConfig(call: Call): Promise<Result> {
  const { facts, login } = await storedLogin(call);
  const home = tshHome(call.io.env);
  const { cmd, ...view } = configView(facts.cluster, login, { env: call.io.env, files: clientIdentity(home, facts.proxy, login.name) });
  return { ...view, command: cmd };
}

async function storedLogin(call: Call): Promise<{ readonly facts: ProfileFacts; readonly login: DatabaseLogin }> {
  const home = tshHome(call.io.env);
  const facts = await loadFacts(home, proxyOption(call));
  return { facts, login: findLogin(await databaseLogins(home, facts), call.args[0] ?? "") };
}
