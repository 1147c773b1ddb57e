const words = (text: string): ReadonlySet<string> => new Set(text.trim().split(/\s+/));

/** Programs whose second word says what they do. */
const WITH_SUBCOMMANDS = words(`
  git npm pnpm yarn bun deno cargo go pip pip3 uv poetry docker podman kubectl helm gh glab make just brew apt apt-get dotnet
  terraform mix rails bundle gradle mvn composer npx bunx pytest tsc vitest jest eslint prettier ruff mypy
`);
/** These have a third: `npm run test`, `git stash pop`, `docker compose up`. */
const WITH_TWO = words(`
  npm:run pnpm:run yarn:run bun:run deno:task git:stash git:remote git:submodule git:worktree docker:compose docker:image
  docker:container gh:pr gh:issue gh:repo gh:run uv:pip
`);
/** What follows decides too much: only the very command may be repeated. */
const ONLY_AS_IT_IS = words(`
  git:push git:reset git:clean git:checkout git:branch git:rebase git:filter-branch git:config docker:run docker:exec
  podman:run podman:exec kubectl:exec kubectl:delete helm:uninstall npm:exec npm:publish pnpm:exec pnpm:dlx yarn:dlx
  bun:x deno:run deno:eval go:run uv:run poetry:run bundle:exec terraform:destroy terraform:apply gh:api cargo:publish
`);
/** Programs that need no word more. */
const WHOLE = words("pytest tsc vitest jest eslint prettier ruff mypy");

/** How many words at the beginning of a command say what it does; undefined where only all of them do. */
export function prefixLength(command: string): number | undefined {
  const [program = "", first, second] = command.split(" ");
  if (!WITH_SUBCOMMANDS.has(program)) return undefined;
  if (WHOLE.has(program)) return 1;
  if (!isName(first) || ONLY_AS_IT_IS.has(`${program}:${first}`)) return undefined;
  if (!WITH_TWO.has(`${program}:${first}`)) return 2;
  return isName(second) ? 3 : undefined;
}

function isName(word: string | undefined): word is string {
  return word !== undefined && /^[A-Za-z][\w:@./-]*$/.test(word);
}
