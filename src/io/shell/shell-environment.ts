import { BoundedMap } from "../../core/bounded-map.ts";
import { toolError, type ToolError } from "../../core/error.ts";
import { maskSecret } from "../../core/secrets/mask-secrets.ts";

interface ShellEnvironmentOptions {
  /** The environment of the host. Only listed names are inherited; see `isInherited`. */
  host: Readonly<Record<string, string | undefined>>;
  overlay?: EnvOverlay;
  /** Further variables of the host to pass on, including secrets; the operator configures them. */
  passOn?: readonly string[];
  /** Sets TERM for a pseudo-terminal, so full-screen programs work. */
  terminal?: boolean;
}

/** The environment of a child process: a few host variables, settings against prompts and colours, session variables. */
export function shellEnvironment(options: ShellEnvironmentOptions): Record<string, string> {
  const { host, overlay, passOn = [], terminal = false } = options;
  const environment = new Map<string, string>();
  // Reading a variable of the process takes a system call: most are not wanted.
  for (const name of Object.keys(host)) {
    const named = passOn.includes(name);
    if (!named && !isInherited(name)) continue;
    const value = host[name];
    if (value !== undefined && (named || !isSecret(name, value))) environment.set(name, value);
  }
  for (const [name, value] of NON_INTERACTIVE) environment.set(name, value);
  environment.set("TERM", terminal ? "xterm-256color" : "dumb");
  if (!["LC_ALL", "LC_CTYPE", "LANG"].some((name) => environment.has(name))) environment.set("LC_ALL", "C.UTF-8");
  for (const [name, value] of overlay?.entries() ?? []) environment.set(name, value);
  return Object.fromEntries(environment);
}

/** Of the last value of each name: every verdict about a command asks. Only names that are inherited come here. */
const secrets = new Map<string, { value: string; isSecret: boolean }>();

/** A proxy address, for example, may contain a password. */
function isSecret(name: string, value: string): boolean {
  const known = secrets.get(name);
  if (known?.value === value) return known.isSecret;
  const found = { value, isSecret: maskSecret(name, value).masked };
  secrets.set(name, found);
  return found.isSecret;
}

/** Host variables that ordinary programs need, that are not secret and that choose no program to run. */
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

// oxfmt-ignore
/** No colours, no pager and no prompts that nobody can answer. */
const NON_INTERACTIVE: readonly (readonly [string, string])[] = [
  ["NO_COLOR", "1"], ["PAGER", "cat"], ["MANPAGER", "cat"], ["GIT_PAGER", "cat"], ["GH_PAGER", "cat"],
  ["SYSTEMD_PAGER", "cat"], ["GIT_TERMINAL_PROMPT", "0"], ["GIT_EDITOR", "true"], ["GCM_INTERACTIVE", "never"],
  ["GH_PROMPT_DISABLED", "1"], ["GH_NO_UPDATE_NOTIFIER", "1"], ["DEBIAN_FRONTEND", "noninteractive"],
  ["PIP_NO_INPUT", "1"], ["PIP_DISABLE_PIP_VERSION_CHECK", "1"], ["PYTHONUNBUFFERED", "1"],
  ["COMPOSER_NO_INTERACTION", "1"], ["npm_config_fund", "false"], ["npm_config_update_notifier", "false"],
];

/** The variables of each session. Calls without a session share one set. */
export interface SessionEnvironments {
  /** The variables of a session. Do not store the overlay between calls: it may be evicted. */
  of(session: string | undefined): EnvOverlay;
  /** The environment for a command of this session. */
  environmentOf(session: string | undefined, options?: { terminal?: boolean }): Record<string, string>;
}

export interface SessionEnvironmentsOptions extends Pick<ShellEnvironmentOptions, "host" | "passOn"> {
  /** Above this number the least recently used session loses its variables. Default: 256. */
  maxSessions?: number;
}

export function createSessionEnvironments(options: SessionEnvironmentsOptions): SessionEnvironments {
  const { host, passOn = [], maxSessions = 256 } = options;
  // In order of last use. Reading adds no entry, so sessions that only read evict nobody.
  const overlays = new BoundedMap<string | undefined, EnvOverlay>(maxSessions);

  return {
    of(session) {
      const overlay = overlays.get(session) ?? createEnvOverlay();
      overlays.set(session, overlay);
      return overlay;
    },
    environmentOf(session, { terminal = false } = {}) {
      const overlay = overlays.get(session);
      if (overlay) overlays.set(session, overlay);
      return shellEnvironment({ host, passOn, terminal, overlay });
    },
  };
}

/** The variables that a session has set. */
interface EnvOverlay {
  /** Returns the value that was set before. */
  set(name: string, value: string): string | undefined;
  get(name: string): string | undefined;
  unset(name: string): string | undefined;
  entries(): IterableIterator<[string, string]>;
}

/** The kernel's limit for one variable, including name and `=`. */
const MAX_ENTRY_BYTES = 128 * 1024 - 1;
const MAX_NAMES = 256;
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

export function createEnvOverlay(): EnvOverlay {
  const values = new Map<string, string>();
  return {
    set(name, value) {
      const refusal = refuseEnvEntry(name, value);
      if (refusal) throw refusal;
      const previous = values.get(name);
      if (previous === undefined && values.size >= MAX_NAMES) {
        throw toolError("too_large", `This session has already set ${MAX_NAMES} variables.`, {
          next: "Unset some, or put the values into a file.",
        });
      }
      values.set(name, value);
      return previous;
    },
    get: (name) => values.get(name),
    unset(name) {
      const previous = values.get(name);
      values.delete(name);
      return previous;
    },
    entries: () => values.entries(),
  };
}

/** Why a session may not set this variable; undefined if it may. An invalid name is not repeated in the message. */
export function refuseEnvEntry(name: string, value: string): ToolError | undefined {
  // `constructor` and the like are not real variables but properties of every object.
  if (!NAME.test(name) || name in Object.prototype || name === "prototype") {
    return toolError("invalid_input", "This is not a valid name of an environment variable.", {
      next: "Use letters, digits and underscores, not beginning with a digit.",
      data: { name },
    });
  }
  if (isDeniedEnvName(name)) {
    return toolError("name_denied", `The variable "${name}" may not be set: it can change what other programs run.`, {
      next: "Put it in front of the command that needs it (NAME=value command); the command is then checked with it.",
      data: { name },
    });
  }
  if (value.includes("\0")) {
    return toolError("invalid_input", `The value of "${name}" contains a NUL character.`, { next: "Remove it." });
  }
  if (Buffer.byteLength(name) + 1 + Buffer.byteLength(value) > MAX_ENTRY_BYTES) {
    return toolError("input_too_large", `The value of "${name}" is longer than the system allows (128 KiB).`, {
      next: "Put it into a file and set the variable to its path.",
    });
  }
  return undefined;
}

/**
 * Names that a session may not set: they choose what programs execute, load, trust, connect to or write, beyond the
 * command itself. Whole families are denied, because a list of single names is never complete. A harmless variable can
 * still be put in front of a command, where the command's approval shows it. Compared in upper case.
 */
export function isDeniedEnvName(name: string): boolean {
  const upper = name.toUpperCase();
  if (HARMLESS_ENV_NAMES.has(upper)) return false;
  return (
    EXACT.has(upper) ||
    PREFIXES.some((prefix) => upper.startsWith(prefix)) ||
    SUFFIXES.some((suffix) => upper.endsWith(suffix))
  );
}

/** Exceptions from the families below: they only change what is printed or recorded. */
const HARMLESS_ENV_NAMES = words(`
  NODE_ENV NODE_DEBUG NODE_NO_WARNINGS PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE PYTHONIOENCODING PYTHONUTF8
  PYTHONHASHSEED PYTHONWARNDEFAULTENCODING GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_AUTHOR_DATE GIT_COMMITTER_NAME
  GIT_COMMITTER_EMAIL GIT_COMMITTER_DATE GIT_TERMINAL_PROMPT GIT_OPTIONAL_LOCKS GIT_MERGE_AUTOEDIT RUST_LOG
  RUST_BACKTRACE RUST_TEST_THREADS CARGO_TERM_COLOR CARGO_TERM_PROGRESS_WHEN CARGO_INCREMENTAL GOOS GOARCH
  GOMAXPROCS RAILS_ENV MIX_ENV DOTNET_CLI_TELEMETRY_OPTOUT DOTNET_NOLOGO NPM_CONFIG_LOGLEVEL NPM_CONFIG_FUND
  NPM_CONFIG_AUDIT UV_THREADPOOL_SIZE FEATURE_FLAGS
`);

const EXACT = words(`
  TMPDIR TMP TEMP PATH PATHEXT HOME SHELL ENV IFS CDPATH FPATH FIGNORE GLOBIGNORE EXECIGNORE INPUTRC FCEDIT SHELLOPTS BASHOPTS
  TIMEFORMAT POSIXLY_CORRECT ZDOTDIR MAIL MAILPATH MAILCHECK COMSPEC SYSTEMROOT SYSTEMDRIVE WINDIR USERPROFILE
  APPDATA LOCALAPPDATA HOMEDRIVE HOMEPATH PROGRAMFILES PROGRAMDATA PSMODULEPATH GLIBC_TUNABLES GCONV_PATH LOCPATH
  NLSPATH TZDIR HOSTALIASES LOCALDOMAIN RES_OPTIONS GETCONF_DIR LIBPATH SHLIB_PATH LIBRARY_PATH CPATH C_INCLUDE_PATH
  CPLUS_INCLUDE_PATH OBJC_INCLUDE_PATH COMPILER_PATH CC CXX CPP LD AR AS NM FC F77 CLASSPATH M4PATH ACLOCAL_PATH
  MFLAGS EDITOR VISUAL PAGER BROWSER MORE GZIP BZIP BZIP2 ZIPOPT TAPE EXINIT VIMINIT ALTERNATE_EDITOR PHPRC WGETRC
  NETRC PSQLRC CURL_HOME GNUPGHOME HGRCPATH HGPLAIN SSLKEYLOGFILE XAUTHORITY DISPLAY WAYLAND_DISPLAY TERMCAP
  TERMINFO TERMINFO_DIRS VIRTUAL_ENV KUBECONFIG CHROME_PATH CHROME_BIN GOPATH GOROOT GOBIN GOENV GOPROXY GOTOOLCHAIN
  GOSUMDB GONOSUMDB GONOSUMCHECK GONOPROXY GOPRIVATE GOINSECURE GOVCS GOWORK GOMODCACHE GOCACHE GOCACHEPROG GOAUTH
  GOTOOLDIR GODEBUG GOEXPERIMENT MANPATH MANOPT MANROFFOPT HISTFILE HISTSIZE HISTFILESIZE HISTCONTROL HISTIGNORE
  HISTTIMEFORMAT MYSQL_HOME MYSQL_GROUP_SUFFIX MYSQL_HISTFILE LIBMYSQL_PLUGINS LIBMYSQL_PLUGIN_DIR PGSERVICEFILE
  PGSYSCONFDIR PGPASSFILE PGSSLROOTCERT PGSSLCERT PGSSLKEY PSQL_HISTORY STACK_ROOT STACK_YAML CONTAINER_HOST
`);

const PREFIXES = list(`
  LD_ DYLD_ _RLD MALLOC_ BASH_ PROMPT_COMMAND PS0 PS1 PS2 PS3 PS4 ZSH_ FISH_ KSH_ XDG_ NODE_ NPM_ YARN_ PNPM_ BUN_
  DENO_ COREPACK_ NVM_ VOLTA_ FNM_ ELECTRON_ PYTHON PIP_ PIPX_ PIPENV_ UV_ POETRY_ PDM_ CONDA_ PYENV_ TWINE_
  JUPYTER_ IPYTHON PERL RUBY GEM_ BUNDLE_ BUNDLER_ RBENV_ RAKE LUA_ PHP_ COMPOSER_ TCLLIB R_ JULIA_ GHC CABAL_ JAVA_
  JDK_ _JAVA_ JRE_ MAVEN_ MVN_ GRADLE_ ANT_ SBT_ KOTLIN_ SCALA_ ERL_ ELIXIR_ MIX_ HEX_ CGO_ RUST CARGO_ DOTNET_
  COMPLUS_ CORECLR_ COR_ MSBUILD NUGET_ GIT_ HG_ SVN_ CVS_ BZR_ P4 GH_ GLAB_ GITHUB_ GITLAB_ SSH_ SUDO_ DOAS_ GPG_
  GPGME LESS MOST_ TAR_ XZ_ UNZIP ZIP_ RSYNC_ GREP_ RIPGREP_ FZF_ ACK_ VIM NVIM_ EMACS MAKE GNUMAKE CMAKE_ CTEST_
  NINJA_ MESON_ PKG_CONFIG CCACHE_ SCCACHE_ DISTCC_ GCC_ LLVM_ CLANG_ AUTOM4TE ACLOCAL LIBTOOL QEMU_ VALGRIND
  DOCKER_ BUILDKIT_ PODMAN_ KUBE HELM_ TF_ TERRAFORM_ ANSIBLE_ VAULT_ PACKER_ PULUMI_ NOMAD_ CONSUL_ AWS_ AZURE_
  GOOGLE_ GCLOUD_ CLOUDSDK_ BOTO_ ALIBABA_ TENCENTCLOUD_ OPENSSL_ SSL_ CURL_ WGET_ KRB5 NSS_ SASL_ SQLITE_ REDISCLI_
  GTK_ QT_ GIO_ GST_ GDK_ LIBGL_ VK_ OCL_ MESA_ SYSTEMD_ DBUS_ PULSE_ ASDF_ MISE_ SDKMAN_ DIRENV_ HOMEBREW_ NIX_
  PLAYWRIGHT_ PUPPETEER_ SELENIUM_ VSCODE_ TMUX HAFT_ RUNTIME_ ANTHROPIC_ OPENAI_ CLAUDE CODEX_ GEMINI_ OPENCLAW_
  OPENCODE_ CURSOR_ COPILOT_ MCP_
`);

const SUFFIXES = list(`
  _COMMAND _CMD _EXEC _EXECUTABLE _EXECUTABLE_PATH _EXEC_PATH _BINARY _BIN _SHELL _BROWSER _WRAPPER _LAUNCHER
  _LINKER _RUNNER _HOOK _HOOKS _PRELOAD _INIT _STARTUP _RC _RCFILE _PLUGIN _PLUGINS _LIBRARY_PATH _INCLUDE_PATH
  _MODULE_PATH _PLUGIN_PATH _CONFIG _CONFIG_PATH _CONFIG_FILE _CONFIG_DIR _CONFIG_HOME _CONF OPTIONS _OPTS _OPT
  _ARGS FLAGS _PROXY _BASE_URL _API_BASE _ENDPOINT_URL _INDEX_URL _REGISTRY _MIRROR _CA_BUNDLE _CA_CERT _CA_CERTS
  _CACERT _CERT_FILE _CERT_DIR _CA_FILE _CA_PATH _TLS_REJECT_UNAUTHORIZED _SSL_VERIFY PAGER EDITOR ASKPASS
`);

function list(text: string): readonly string[] {
  return text.trim().split(/\s+/);
}

function words(text: string): ReadonlySet<string> {
  return new Set(list(text));
}

const SAFE_ENV_NAMES = new Set(
  `LANG LANGUAGE TZ TERM COLORTERM NO_COLOR FORCE_COLOR CLICOLOR CLICOLOR_FORCE CI COLUMNS LINES`.split(/\s+/),
);

/**
 * Whether a rule that allows a command still applies with this variable set. The list has variables that only change
 * what is printed or recorded; any other may choose what runs.
 */
export function isSafeEnvName(name: string): boolean {
  return SAFE_ENV_NAMES.has(name) || /^LC_[A-Z]+$/.test(name) || HARMLESS_ENV_NAMES.has(name);
}
