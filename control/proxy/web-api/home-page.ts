import { escapeHtml, page } from "./page.ts";

export interface HomeFacts {
  readonly clusterName: string;
  /** `host:port` */
  readonly proxy: string;
  /** Needed to log in where users' machines do not trust the web certificate; empty: not shown. */
  readonly caPins: readonly string[];
  readonly version: string;
  /** This proxy serves packages. */
  readonly servesPackages: boolean;
}

/** The page for browsers: the cluster, and how to log in. */
export function homePage({ clusterName, proxy, caPins, version, servesPackages }: HomeFacts): string {
  const options = [`--proxy=${proxy}`, "--user=…"].map((option) => `<span>${escapeHtml(option)}</span>`).join(" ");
  const pins = caPins.map((pin) => `<span>${escapeHtml(`--ca-pin=${pin}`)}</span>`).join(" ");
  const site = proxy.replace(/:443$/, "");
  const script = `curl -fsS https://${site}/scripts/install.sh | sudo sh -s -- ${version} enterprise`;
  return page(
    clusterName,
    `<h1>${escapeHtml(clusterName)}</h1>
<p>This is the door of an access platform. You come in with the program <code>tsh</code>.</p>
<h2>Log in</h2>
<pre>tsh login ${options}</pre>
${pins === "" ? "" : `<p class="quiet">If <code>tsh</code> does not trust the certificate of this page, add: <code class="secret">${pins}</code></p>`}
<p>You have no account yet? Ask an administrator of ${escapeHtml(clusterName)} for an invite link.</p>
<h2>Get <code>tsh</code></h2>
${
  servesPackages
    ? `<p>On Linux it is in the package <code>platform-ent</code>, which this installs:</p>
<pre>${escapeHtml(script)}</pre>
<p class="quiet">Read <a href="/scripts/install.sh">the script</a> before you run it. To log in from this computer you need not configure or start the service that it installs.</p>
<p>On macOS, and wherever Node.js is:</p>
<pre>${escapeHtml(`npm install --global https://${site}/packages/client/platform-client.tgz`)}</pre>`
    : `<p>On Linux it is in the package <code>platform-ent</code>, which your administrator has.</p>`
}
<p class="quiet">Version ${escapeHtml(version)}</p>`,
  );
}
