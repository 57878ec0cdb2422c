/**
 * Keys that the reference's configuration has and we do not serve yet. They are refused as such, so that nobody relies on
 * a setting that does nothing. By section; "" is the top level of the file.
 */
const referenceKeys: Readonly<Record<string, readonly string[]>> = {
  "": ["windows_desktop_service", "discovery_service", "jamf_service", "okta_service", "debug_service", "relay_service"],
  platform: ["relay_server", "cache", "shutdown_delay", "connection_limits", "auth_connection_config", "ciphersuites"],
  "platform.log.format": ["extra_fields"],
  "platform.storage": ["type", "audit_sessions_uri", "path", "peers", "tls_cert_file", "tls_key_file", "tls_ca_file", "prefix"],
  auth_service: [
    "proxy_protocol",
    "tokens",
    "proxy_checks_host_keys",
    "client_idle_timeout",
    "client_idle_timeout_message",
    "web_idle_timeout",
    "disconnect_expired_cert",
    "keep_alive_interval",
    "keep_alive_count_max",
    "ssh_dial_timeout",
    "session_control_timeout",
    "routing_strategy",
    "license_file",
    "message_of_the_day",
    "tunnel_strategy",
    "ca_key_params",
  ],
  "auth_service.authentication": [
    "local_auth",
    "second_factors",
    "passwordless",
    "headless",
    "connector_name",
    "webauthn",
    "locking_mode",
    "device_trust",
    "require_session_mfa",
  ],
  proxy_service: ["peer_listen_addr", "peer_public_addr", "https_keypairs_reload_interval", "acme", "idp", "ui", "trust_x_forwarded_for"],
  ssh_service: ["enhanced_recording", "x11", "allow_tcp_forwarding", "ssh_file_copy"],
  "ssh_service.pam": ["use_pam_auth"],
  app_service: ["mcp_demo_server"],
  db_service: ["aws", "azure"],
  "db_service.resources": ["aws"],
  "db_service.databases": ["mysql", "dynamic_labels", "aws", "gcp", "azure", "ad", "mongo_atlas", "oracle"],
  "kubernetes_service.resources": ["aws"],
  "app_service.apps": ["dynamic_labels", "commands", "cloud", "aws", "use_any_proxy_public_addr", "mcp"],
};

/** Whether the reference's configuration has the key in the section. Pure. */
export function isReferenceKey(section: string, key: string): boolean {
  return Object.hasOwn(referenceKeys, section) && (referenceKeys[section]?.includes(key) ?? false);
}
