import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { isInside, isSecretName, type PathPolicy, withoutInner } from "../files/path-policy.ts";
import { SYSTEM_SECRETS } from "../files/secret-paths.ts";
import { ACCESS, type ClosedPaths, type PathRule, splitAround } from "./landlock.ts";

/** `look`: reads, without secrets. `work`: also writes the workspace. */
export type ConfinementProfile = "look" | "work";

/** The files of a confined program, as real paths. */
export interface FileAccess {
  read: readonly string[];
  write: readonly string[];
  /** Folders for temporary files, which hold nothing that is closed. */
  temporary?: readonly string[];
  /** Never opened, whatever contains them. */
  closed: ClosedPaths;
  /** Paths inside writable ones that are only read. */
  readOnly?: readonly string[];
}

/** Programs and libraries. */
const SYSTEM = [
  ...["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/etc", "/nix/store", "/gnu/store"],
  ...["/run/current-system", "/snap", "/var/lib/dpkg", "/var/lib/snapd/snap", "/home/linuxbrew/.linuxbrew"],
  ...["/proc", "/sys/devices/system", "/sys/fs/cgroup", "/sys/kernel/mm/transparent_hugepage"],
];

const MAX_SYSTEM_ENTRIES = 20_000;

/** For root: the listed files, and everything in /etc that other users of the machine cannot read. */
export function systemSecrets(): string[] {
  const found = new Set(SYSTEM_SECRETS.filter((path) => existsSync(path)));
  const waiting = ["/etc"];
  let seen = 0;
  for (let folder = waiting.pop(); folder !== undefined; folder = waiting.pop()) {
    for (const { name } of readdirSync(folder, { withFileTypes: true })) {
      const path = join(folder, name);
      const info = lstatSync(path, { throwIfNoEntry: false });
      if (!info || info.isSymbolicLink() || found.has(path)) continue;
      if ((info.mode & READABLE_FOR_OTHERS) === 0 || ++seen > MAX_SYSTEM_ENTRIES) found.add(path);
      else if (info.isDirectory()) waiting.push(path);
    }
  }
  return [...found];
}

const READABLE_FOR_OTHERS = 0o004;
const READABLE_DEVICES = ["/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];
const WRITABLE_DEVICES = ["/dev/null", "/dev/tty"];

/** Settings and installed packages below the home folder. */
const READABLE_IN_HOME = [
  ...[".gitconfig", ".config/git/config", ".config/git/ignore", ".config/git/attributes"],
  ...[".nvm", ".rustup", ".cargo/bin", ".cargo/config.toml", ".cargo/registry", ".cargo/git", ".local/lib", ".sdkman"],
  ...[
    ".npm/_cacache",
    ".local/share/uv/python",
    "go/pkg",
    ".m2/repository",
    ".gradle/wrapper",
    ".gradle/caches",
    ".nuget/packages",
  ],
];

/** Folders that package managers fill. Commands under an approval may write them. */
const CACHES = [
  ...[".npm", ".cache/pip", ".cache/uv", ".cache/yarn", ".cache/pnpm", ".cache/node", ".cache/deno", ".cache/go-build"],
  ...[".cache/bazel", ".cache/ccache", ".cache/sccache", ".cache/composer", ".local/share/pnpm/store", ".yarn/berry"],
  ...[".bun/install/cache", ".cargo/registry", ".cargo/git", "go/pkg", ".m2/repository", ".gradle/caches"],
  ...[".nuget/packages", ".ivy2/cache"],
];

/** Caches that MCP servers and hooks may write, and the programs that fill them. */
const PROGRAM_CACHES: readonly [folder: string, filledBy: RegExp][] = [
  [".npm", /^(npx|npm)$/],
  [".cache/uv", /^uvx?$/],
  [".cache/pip", /^(pipx?|python[\d.]*)$/],
];

/** Folders that hold more than one installation: only the folder on the PATH is opened, not the one around it. */
const TOO_WIDE = new Set(["/", "/home", "/root", "/tmp", "/var", "/srv", "/mnt", "/media"]);

/** What every confined program may read: the system, installed tools and settings without secrets. */
export function readableSystem({ home, path }: { home: string; path: string }): string[] {
  const wanted = [...SYSTEM, ...READABLE_IN_HOME.map((name) => join(home, name)), ...toolFolders({ home, path })];
  return [...new Set(wanted.flatMap(realFolderOrFile))];
}

/** The names in the home folder under which programs look for what they may read or write. They may be links. */
export function namesInHome({ home, path }: { home: string; path: string }): string[] {
  const wanted = [...READABLE_IN_HOME, ...CACHES].map((name) => join(home, name));
  return [...new Set([...wanted, ...toolFolders({ home, path })])].filter(
    (name) => name !== home && isInside(name, home),
  );
}

/** Caches of package managers, whether they exist or not. */
export function cacheFolders(home: string): string[] {
  return CACHES.map((name) => join(home, name));
}

/** Those that exist. */
export function packageCaches(home: string): string[] {
  return cacheFolders(home).flatMap(realFolderOrFile);
}

/** The caches for a program other than a command. Created if the program needs one that does not exist yet. */
export function programCaches(home: string, program: string): string[] {
  return PROGRAM_CACHES.flatMap(([name, filledBy]) => {
    const folder = join(home, name);
    if (filledBy.test(basename(program)) && !existsSync(folder)) mkdirSync(folder, { recursive: true, mode: 0o700 });
    return realFolderOrFile(folder);
  });
}

/** The installations that the PATH names, for example `~/.nvm/versions/node/v20` for its `bin`. */
export function toolFolders({ home, path }: { home: string; path: string }): string[] {
  const programFolders = new Set([dirname(process.execPath), ...path.split(":")]);
  return [...programFolders].flatMap((folder) => {
    if (!folder.startsWith("/") || folder === home || isSecretName(folder)) return [];
    const parent = dirname(folder);
    // The programs of packages are links into the folder around them.
    const isOfPackages = basename(folder) === ".bin" && basename(parent) === "node_modules";
    const isInstallation = isOfPackages || /^(s?bin|shims|scripts)$/i.test(basename(folder));
    const shared = [home, join(home, ".local"), join(home, ".cargo"), join(home, ".config")];
    if (!isInstallation || TOO_WIDE.has(parent) || shared.includes(parent) || isProject(parent)) return [folder];
    return [parent];
  });
}

/** Whether it is somebody's work instead of an installation: its other files are none of the command's business. */
function isProject(folder: string): boolean {
  try {
    const names = readdirSync(folder);
    // Version managers are cloned too, into hidden folders.
    return names.some((name) => isSecretName(name)) || (names.includes(".git") && !folder.includes("/."));
  } catch {
    return true;
  }
}

export function realFolderOrFile(path: string): string[] {
  try {
    return [realpathSync.native(path)];
  } catch {
    return [];
  }
}

/** Landlock's rules for a program, and the folders whose next change makes them outdated. */
export function pathRules({ read, write, temporary = [], closed, readOnly = [] }: FileAccess): {
  rules: PathRule[];
  splitFolders: string[];
} {
  const rules: PathRule[] = [{ path: "/dev", access: ACCESS.list, isFolder: true }];
  const splitFolders: string[] = [];
  for (const path of READABLE_DEVICES) rules.push({ path, access: ACCESS.readFile, isFolder: false });
  for (const path of WRITABLE_DEVICES) rules.push({ path, access: ACCESS.device, isFolder: false });
  for (const path of temporary) rules.push({ path, access: ACCESS.write, isFolder: true });
  const notWritten = { ...closed, paths: new Set([...closed.paths, ...readOnly]) };
  const add = (path: string, access: number): void => {
    const split = splitAround(path, access, access === ACCESS.write ? notWritten : closed);
    rules.push(...split.rules);
    splitFolders.push(...split.folders);
  };
  for (const path of withoutInner(read)) add(path, ACCESS.read);
  for (const path of write) add(path, ACCESS.write);
  return { rules, splitFolders };
}

/**
 * The folders that hold the repository of a linked worktree, or none. The repository must point back to this `.git`
 * file: a `.git` file from elsewhere could name any folder.
 */
export function worktreeRepository(workspace: string): string[] {
  const link = join(workspace, ".git");
  try {
    if (!lstatSync(link).isFile()) return [];
    const [, target = ""] = /^gitdir: (\/.+)\n?$/.exec(readFileSync(link, "utf8")) ?? [];
    const folder = realpathSync(target);
    if (readFileSync(join(folder, "gitdir"), "utf8").trim() !== link) return [];
    const common = dirname(dirname(folder));
    const isRepository =
      basename(common) === ".git" && existsSync(join(common, "HEAD")) && statSync(common).isDirectory();
    return isRepository ? [common] : [];
  } catch {
    return [];
  }
}

/** The folder that the names of git begin at; undefined if there is no repository. */
export function repositoryTop(folder: string): string | undefined {
  for (let at = folder; ; at = dirname(at)) {
    if (lstatSync(join(at, ".git"), { throwIfNoEntry: false })) return at;
    if (at === dirname(at)) return undefined;
  }
}

/** What git keeps of a repository, by its `.git` folder: the contents of all files that it ever had. */
export function objectFolders(repository: string): string[] {
  return ["objects", "lfs", "modules"].map((name) => join(repository, name)).filter(exists);
}

/** Differs when something was added: every new object changes a folder, and the index gives names to objects that exist. */
export function stateOfObjects(repository: string): string {
  const objects = join(repository, "objects");
  const folders = readdirSync(objects).map((name) => join(objects, name));
  return [objects, ...folders, join(repository, "index"), join(repository, "modules")]
    .map((path) => {
      const info = lstatSync(path, { throwIfNoEntry: false });
      return info ? `${info.ctimeMs} ${info.size}` : "";
    })
    .join("\0");
}

/** Existing paths, without those inside another one. */
export function outermost(paths: readonly string[]): string[] {
  const existing = new Set(paths.filter(exists));
  return [...existing].filter((path) => path === "/" || !isWithin(dirname(path), existing));
}

/** Whether the path or a folder that it is in is one of these. */
export function isWithin(path: string, folders: ReadonlySet<string>): boolean {
  for (let at = path; ; at = dirname(at)) {
    if (folders.has(at)) return true;
    if (dirname(at) === at) return false;
  }
}

export function exists(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

export function isFolder(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

/** What every layer of the policy allows. If that is the whole system, it is the workspace. */
export function roots({ layers, workspace }: PathPolicy, kind: "readable" | "writable" = "readable"): string[] {
  const admitting = layers.map((layer) =>
    layer.filter(({ writable }) => kind === "readable" || writable).map(({ path }) => path),
  );
  const admitted = admitting
    .flat()
    .filter((path) => admitting.every((layer) => layer.some((root) => isInside(path, root))));
  const readOnly = layers.flat().filter(({ writable }) => !writable);
  const kept = kind === "readable" ? admitted : admitted.filter((path) => !readOnly.some((root) => root.path === path));
  return [...new Set(kept.map((path) => (path === "/" ? workspace : path)))];
}

/** Existing read-only roots below one of these paths. */
export function readOnlyInside(write: readonly string[], { layers }: PathPolicy): string[] {
  const found = layers.flat().filter(({ path, writable }) => !writable && write.some((root) => isInside(path, root)));
  return [...new Set(found.map(({ path }) => path))].filter(exists);
}
