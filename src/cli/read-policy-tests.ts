import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { PermissionTest } from "../config/config-schema.ts";
import { UsageError } from "./usage-error.ts";

interface Places {
  folder: string;
  cwd: string;
  env: Readonly<Record<string, string | undefined>>;
}

/** Examples of calls and what is to become of them: from the files named, else from the folder's configuration. */
export async function readPolicyTests(
  files: readonly string[],
  { folder, cwd, env }: Places,
): Promise<PermissionTest[]> {
  if (files.length === 0) {
    const { loadConfig } = await import("../config/load-config.ts");
    const { sources } = await loadConfig({ folder, env });
    return sources.flatMap(({ value }) => value.permissions?.tests ?? []);
  }
  const read = await Promise.all(files.map((file) => readTests(resolve(cwd, file))));
  return read.flat();
}

async function readTests(file: string): Promise<PermissionTest[]> {
  const [{ parseConfigText }, { configSchema }] = await Promise.all([
    import("../config/config-text.ts"),
    import("../config/config-schema.ts"),
  ]);
  const text = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(`${file} cannot be read (${error.code}).`);
  });
  const { value } = await parseConfigText(text, file);
  const tests = Array.isArray(value) ? value : (Object(value) as { tests?: unknown }).tests;
  const { success, data, error } = configSchema.safeParse({ permissions: { tests } });
  if (!success) {
    const [issue] = error.issues;
    throw new UsageError(
      `${file} is no list of examples: ${issue?.path.slice(2).join(".") ?? ""} ${issue?.message ?? ""}`,
      "Write a list of { tool, input, expect: allow|ask|deny }.",
    );
  }
  return data.permissions?.tests ?? [];
}
