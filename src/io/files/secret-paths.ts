import { readFileSync } from "node:fs";
import { basename, dirname } from "node:path";

/** Names that mean a secret at any depth of any folder. Globs of deny rules (`path-policy.ts`). */
export const SECRET_GLOBS: readonly string[] = [
  // Keys and certificates with keys.
  "*.pem",
  "*.key",
  "*.p12",
  "*.pfx",
  "*.jks",
  "*.keystore",
  "*.kdbx",
  "*.ppk",
  "*.asc.key",
  "*.agekey",
  ".ssh",
  ".gnupg",
  ".password-store",
  // Settings of a project with passwords.
  ".env",
  ".envrc",
  ".htpasswd",
  ".vault-token",
  ".vault_pass*",
  "terraform.tfstate*",
  ".terraformrc",
  "service-account*.json",
  "*-service-account.json",
  "secrets.{yml,yaml,json,toml}",
  // Databases and network clients.
  ".netrc",
  "_netrc",
  ".pgpass",
  ".my.cnf",
  ".git-credentials",
  // Package managers.
  ".npmrc",
  ".pypirc",
  ".cargo/credentials*",
  ".gem/credentials",
  ".m2/settings{,-security}.xml",
  ".gradle/gradle.properties",
  ".nuget/NuGet.Config",
  ".config/pip/pip.conf",
  ".composer/auth.json",
  ".bundle/config",
  // Clouds and services.
  ".azure",
  ".aws/credentials",
  ".aws/config",
  ".aws/{sso,cli}/cache",
  ".boto",
  ".s3cfg",
  ".kube/config",
  ".docker/config.json",
  ".dockercfg",
  ".config/gcloud",
  ".config/gh/hosts.yml",
  ".config/glab-cli",
  ".config/hub",
  ".config/op",
  ".config/doctl",
  ".config/rclone",
  ".config/hcloud",
  ".fly/config.yml",
  ".netlify/config.json",
  ".vercel/auth.json",
  ".terraform.d/credentials.tfrc.json",
  ".databrickscfg",
  ".snowsql",
  // What was typed, passwords included.
  ".*_history",
  // Agents.
  ".claude/.credentials.json",
  ".codex/auth.json",
  ".gemini/oauth_creds.json",
  // The system.
  "/etc/{shadow,gshadow,sudoers}*",
];

/** Denied by name, except for these forms that hold no secret. */
export const SECRET_GLOBS_WITH_EXCEPTIONS = [
  { glob: ".env.*", except: [".env.{example,sample,template,dist,defaults}"] },
  { glob: "id_{rsa,dsa,ecdsa,ed25519}*", except: ["*.pub"] },
] as const;

/** System files with passwords and keys. An ordinary user cannot read them; root can. */
export const SYSTEM_SECRETS: readonly string[] = [
  ...["/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers", "/etc/sudoers.d", "/etc/ssh"],
  ...["/etc/ssl/private", "/etc/security/opasswd", "/etc/krb5.keytab", "/etc/wireguard", "/etc/openvpn"],
  ...["/etc/NetworkManager/system-connections", "/etc/letsencrypt", "/etc/docker/key.json", "/etc/kubernetes"],
];

/** Whether a configuration file of git contains a password: in a URL, or in a header that it sends. */
function hasGitCredentials(config: string): boolean {
  return /:\/\/[^\s/@]+:[^\s/@]+@|:\/\/[^\s/@:]{20,}@|^\s*(?:extraheader\b.*(?:authorization|token)|password\s*=)/im.test(
    config,
  );
}

/** Whether the path is the configuration of a repository, and that contains a password. */
export function isGitConfigWithSecret(path: string): boolean {
  if (!/^config(?:\.worktree)?$/.test(basename(path)) || !/(?:^|\/)\.git(?:\/|$)/.test(dirname(path))) return false;
  try {
    return hasGitCredentials(readFileSync(path, "utf8"));
  } catch {
    return false;
  }
}
