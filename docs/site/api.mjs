// Writes the API reference as Markdown, from the TSDoc of the entry points. Argument: the folder of the repository.
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { Application, Converter } from "typedoc";

const [root = "", out = ""] = process.argv.slice(2);
const { name, exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
/** `haft/workspace` → its source. */
const entries = new Map(
  Object.entries(exports).flatMap(([subpath, { default: file }]) =>
    file ? [[subpath.replace(".", name), join(root, file.replace("./dist/", "src/").replace(/\.js$/, ".ts"))]] : [],
  ),
);
// Only what the entries reach: tests and scripts would double the time.
const tsconfig = join(import.meta.dirname, "tsconfig.api.json");
const config = {
  extends: join(root, "tsconfig.json"),
  compilerOptions: { typeRoots: [join(root, "node_modules", "@types")] },
  include: [],
  files: [...entries.values()],
};
writeFileSync(tsconfig, JSON.stringify(config));
rmSync(out, { recursive: true, force: true });

const app = await Application.bootstrapWithPlugins({
  name: "API reference",
  out,
  entryPoints: [...entries.values()],
  tsconfig,
  plugin: ["typedoc-plugin-markdown"],
  // `npm run check` does it, with the compiler that the project uses.
  skipErrorChecking: true,
  readme: "none",
  disableSources: true,
  excludePrivate: true,
  excludeProtected: true,
  excludeInternal: true,
  excludeExternals: true,
  validation: { notExported: false, invalidLink: true, rewrittenLink: true },
  treatWarningsAsErrors: true,
  logLevel: "Warn",
  router: "module",
  entryFileName: "index",
  hideBreadcrumbs: true,
  hidePageHeader: true,
  useCodeBlocks: true,
  parametersFormat: "table",
  typeDeclarationFormat: "table",
  typeAliasPropertiesFormat: "table",
  interfacePropertiesFormat: "table",
  classPropertiesFormat: "table",
  propertyMembersFormat: "table",
});
app.converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
  for (const module of project.children ?? []) {
    module.name = module.name === "index" ? name : `${name}/${module.name}`;
    // The shapes of the HTTP API have a reference of their own.
    const shapes = module.name === `${name}/client` && module.children?.find((child) => child.name === "api");
    if (shapes) project.removeReflection(shapes);
  }
});
const project = await app.convert();
if (!project) process.exit(1);
app.validate(project);
await app.generateOutputs(project);
if (app.logger.hasErrors() || app.logger.hasWarnings()) process.exit(1);
