/** A file or folder that a program executes or obeys by itself, without a person naming it. */
export interface ExecutedName {
  /** Without a slash: a name at any depth, and everything below it. With one: a path at any depth, without wildcards. */
  glob: string;
  why: string;
  /** Whether the file tools refuse to write it. If not, it may be edited, but `acceptEdits` asks first. */
  isRefused: boolean;
}

const refused = (why: string, globs: string): ExecutedName[] =>
  globs.split(" ").map((glob) => ({ glob, why, isRefused: true }));
const asked = (why: string, globs: string): ExecutedName[] =>
  globs.split(" ").map((glob) => ({ glob, why, isRefused: false }));

const GIT = "git runs programs that it names";
const SHELL = "every new shell runs it";
const EDITOR = "editors run its tasks and settings when the folder is opened";
const AGENT = "it decides what agents may do";
const HOOKS = "git runs it at every commit";
const CI = "the CI service runs it with the secrets of the project";
const INSTALL = "package managers run its scripts during an installation";
const ON_ENTER = "it runs when somebody enters the folder";
const START = "a program runs it when it starts in this folder";

/** The one list of protected names: the file tools, the modes of the policy and the sandbox use it. */
export const EXECUTED_NAMES: readonly ExecutedName[] = [
  ...refused(GIT, ".git .gitconfig .gitmodules"),
  ...refused(SHELL, ".bash{rc,_profile,_login,_logout,_aliases} .profile .zsh{rc,env} .z{profile,login,logout}"),
  ...refused("it changes what keys do in a terminal", ".inputrc"),
  ...refused("ripgrep takes options from it, also programs", ".ripgreprc"),
  ...refused(EDITOR, ".vscode .idea"),
  ...refused(AGENT, ".mcp.json .claude .cursor .codex .gemini haft.config.* haft.lock"),
  ...refused(AGENT, ".opencode .config/opencode opencode.{json,jsonc} .pi"),
  ...refused(AGENT, ".github/hooks .github/copilot .copilot .claude.json"),
  ...refused("package managers execute it", ".yarnrc.yml .pnpmfile.cjs"),
  ...asked(GIT, ".gitattributes"),
  ...asked("git runs the commands in it when the rebase continues", ".git/{rebase-merge,rebase-apply,sequencer}"),
  ...asked(HOOKS, ".husky .githooks .pre-commit-config.yaml lefthook.{yml,yaml,toml,json} .lefthook.{yml,yaml}"),
  ...asked(CI, ".github/workflows .github/actions .gitlab-ci.yml .circleci .buildkite .travis.yml"),
  ...asked(CI, ".drone.yml .woodpecker Jenkinsfile azure-pipelines.yml bitbucket-pipelines.yml appveyor.yml"),
  ...asked(INSTALL, "package.json binding.gyp composer.json setup.py build.rs pnpm-workspace.yaml"),
  ...asked("commands of the project are found here", "node_modules/.bin .venv .yarn .pnp.cjs .pnp.loader.mjs"),
  ...asked(ON_ENTER, "mise.toml .mise.toml .mise .rtx.toml .tool-versions .autoenv.zsh .nvmrc"),
  ...asked(EDITOR, ".zed .devcontainer .devcontainer.json .fleet .nvim.lua .nvimrc .exrc .vimrc"),
  ...asked(EDITOR, ".dir-locals.el .sublime-project .gitpod.yml .replit"),
  ...asked(START, ".gdbinit .lldbinit .pryrc .irbrc .Rprofile .psqlrc .sqliterc .pdbrc .node_repl"),
  ...asked(START, "conftest.py sitecustomize.py usercustomize.py .cargo .mvn gradle/wrapper gradlew mvnw"),
  ...asked(AGENT, "AGENTS.md CLAUDE.md GEMINI.md .cursorrules .windsurfrules .clinerules .aider.conf.yml"),
  ...asked(AGENT, ".github/copilot-instructions.md .continue .windsurf .roo .amazonq .kiro .opencode"),
];
