/** Loads an installed package on first use; synchronously, because tools are described and validated so. */
export function loadPackage<T>(name: string, neededFor: string): T {
  const require = requireFromHere();
  if (require === undefined) throw new Error(`${neededFor} needs Node 20.19 or newer, or Bun.`);
  try {
    return require(name) as T;
  } catch (cause) {
    if (!isMissing(cause, name)) throw cause;
    throw new Error(`${neededFor} needs the package "${packageOf(name)}": npm install ${packageOf(name)}`, { cause });
  }
}

/** Imports a package that no bundle can hold (native, or optional): bundlers do not see its name. */
export function importInstalled<T>(name: string): Promise<T> {
  return import(/* webpackIgnore: true */ /* turbopackIgnore: true */ /* @vite-ignore */ name) as Promise<T>;
}

/** The path of a file of such a package. Throws if it is not installed. */
export function resolveInstalled(name: string): string {
  const require = requireFromHere();
  if (require === undefined) throw new Error(`${name} cannot be found: this is neither Node nor Bun.`);
  return require.resolve(name);
}

let requireHere: NodeJS.Require | undefined;

function requireFromHere(): NodeJS.Require | undefined {
  if (typeof process === "undefined" || typeof process.getBuiltinModule !== "function") return undefined;
  return (requireHere ??= process.getBuiltinModule("node:module").createRequire(import.meta.url));
}

function isMissing(cause: unknown, name: string): boolean {
  const { code, message }: { code?: unknown; message?: unknown } = cause instanceof Error ? cause : {};
  const isNotFound = code === "MODULE_NOT_FOUND" || code === "ERR_MODULE_NOT_FOUND";
  return isNotFound && String(message).includes(packageOf(name));
}

function packageOf(specifier: string): string {
  const parts = specifier.split("/");
  return parts.slice(0, specifier.startsWith("@") ? 2 : 1).join("/");
}
