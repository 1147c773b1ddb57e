import type { EnvOverlay } from "./env-overlay.ts";
import { maskSecret } from "../core/mask-secret.ts";

export interface ShellEnvironmentOptions {
  /** The environment of the host; only what the list below names is taken from it. */
  host: Readonly<Record<string, string | undefined>>;
  overlay?: EnvOverlay;
  /** Further host names that this installation passes on, secrets included: its operator has said so. */
  passOn?: readonly string[];
  /** For a pseudo-terminal: a terminal type that full-screen programs know. */
  terminal?: boolean;
}

/** What a child process gets: a little of the host, settings that keep programs quiet, what the session has set. */
export function shellEnvironment(options: ShellEnvironmentOptions): Record<string, string> {
  const { host, overlay, passOn = [], terminal = false } = options;
  const environment = new Map<string, string>();
  for (const [name, value] of Object.entries(host)) {
    if (value === undefined) continue;
    const named = passOn.includes(name);
    // A proxy address, or any other, may carry a password.
    if (named || (isInherited(name) && !maskSecret(name, value).masked)) environment.set(name, value);
  }
  for (const [name, value] of QUIET) environment.set(name, value);
  environment.set("TERM", terminal ? "xterm-256color" : "dumb");
  if (!["LC_ALL", "LC_CTYPE", "LANG"].some((name) => environment.has(name))) environment.set("LC_ALL", "C.UTF-8");
  for (const [name, value] of overlay?.entries() ?? []) environment.set(name, value);
  return Object.fromEntries(environment);
}

/** Names of the host that ordinary programs need, and that are neither secret nor make a program execute something. */
function isInherited(name: string): boolean {
  const upper = name.toUpperCase();
  return INHERITED.has(process.platform === "win32" ? upper : name) || name.startsWith("LC_") || PROXIES.has(upper);
}

const PROXIES = new Set(["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"]);

const INHERITED = new Set(
  `
  PATH HOME USER LOGNAME SHELL LANG LANGUAGE TZ TMPDIR TMP TEMP HOSTNAME COLUMNS LINES XDG_CONFIG_HOME
  XDG_CACHE_HOME XDG_DATA_HOME XDG_STATE_HOME XDG_DATA_DIRS XDG_CONFIG_DIRS JAVA_HOME JDK_HOME MAVEN_HOME
  GRADLE_HOME GRADLE_USER_HOME ANDROID_HOME ANDROID_SDK_ROOT ANDROID_NDK_ROOT KOTLIN_HOME GOPATH GOROOT GOBIN
  GOMODCACHE GOCACHE CARGO_HOME RUSTUP_HOME DOTNET_ROOT NVM_DIR NVM_BIN FNM_DIR FNM_MULTISHELL_PATH VOLTA_HOME
  PNPM_HOME BUN_INSTALL DENO_DIR DENO_INSTALL COREPACK_HOME PYENV_ROOT VIRTUAL_ENV CONDA_PREFIX CONDA_DEFAULT_ENV
  RBENV_ROOT GEM_HOME GEM_PATH ASDF_DIR ASDF_DATA_DIR MISE_DATA_DIR SDKMAN_DIR HOMEBREW_PREFIX HOMEBREW_CELLAR
  HOMEBREW_REPOSITORY NIX_PATH NIX_PROFILES NIX_SSL_CERT_FILE SSL_CERT_FILE SSL_CERT_DIR NODE_EXTRA_CA_CERTS
  REQUESTS_CA_BUNDLE CURL_CA_BUNDLE PLAYWRIGHT_BROWSERS_PATH SYSTEMROOT SYSTEMDRIVE WINDIR COMSPEC PATHEXT
  USERPROFILE HOMEDRIVE HOMEPATH USERNAME USERDOMAIN APPDATA LOCALAPPDATA PROGRAMDATA PROGRAMFILES PROGRAMFILES(X86)
  COMMONPROGRAMFILES PROCESSOR_ARCHITECTURE NUMBER_OF_PROCESSORS OS
`
    .trim()
    .split(/\s+/),
);

/** No colour, no pager, no question that nobody is there to answer. */
const QUIET: readonly (readonly [string, string])[] = [
  ["NO_COLOR", "1"],
  ["PAGER", "cat"],
  ["MANPAGER", "cat"],
  ["GIT_PAGER", "cat"],
  ["GH_PAGER", "cat"],
  ["SYSTEMD_PAGER", "cat"],
  ["GIT_TERMINAL_PROMPT", "0"],
  ["GIT_EDITOR", "true"],
  ["GCM_INTERACTIVE", "never"],
  ["GH_PROMPT_DISABLED", "1"],
  ["GH_NO_UPDATE_NOTIFIER", "1"],
  ["DEBIAN_FRONTEND", "noninteractive"],
  ["PIP_NO_INPUT", "1"],
  ["PIP_DISABLE_PIP_VERSION_CHECK", "1"],
  ["PYTHONUNBUFFERED", "1"],
  ["COMPOSER_NO_INTERACTION", "1"],
  ["npm_config_fund", "false"],
  ["npm_config_update_notifier", "false"],
];
