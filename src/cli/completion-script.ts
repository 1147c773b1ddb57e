export const SHELLS = ["bash", "zsh", "fish"] as const;

/** Each script asks this very program what may come next, so that it knows the tools of the folder it is used in. */
const SCRIPTS: Readonly<Record<(typeof SHELLS)[number], string>> = {
  bash: `# Completion of haft for Bash
_haft() {
  local words=("\${COMP_WORDS[@]:1:COMP_CWORD}")
  local IFS=$'\\n'
  COMPREPLY=($(compgen -W "$(haft completion --words -- "\${words[@]}" 2>/dev/null)" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _haft haft`,
  zsh: `#compdef haft
# Completion of haft for Zsh
_haft() {
  local -a found
  found=("\${(@f)$(haft completion --words -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "$found" ]]; then compadd -a found; else _files; fi
}
if [ "$funcstack[1]" = "_haft" ]; then _haft "$@"; else compdef _haft haft; fi`,
  fish: `# Completion of haft for fish
complete -c haft -a '(haft completion --words -- (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)'`,
};

export function completionScript(shell: string): string | undefined {
  return Object.hasOwn(SCRIPTS, shell) ? SCRIPTS[shell as (typeof SHELLS)[number]] : undefined;
}
