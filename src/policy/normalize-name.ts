/** What other systems call the tools that stand in policies here. */
const KNOWN_AS: Readonly<Record<string, string>> = {
  bash: "exec",
  shell: "exec",
  run_shell_command: "exec",
  read_file: "read",
  write_file: "write",
  edit_file: "edit",
  multi_edit: "edit",
  multiedit: "edit",
  ls: "list_files",
  websearch: "web_search",
  webfetch: "web_fetch",
};

/** One spelling for a tool's name in a list: lower case, `_`, and the canonical name where others are common. */
export function normalizeToolName(name: string): string {
  const folded = foldToolName(name);
  return Object.hasOwn(KNOWN_AS, folded) ? KNOWN_AS[folded]! : folded;
}

export function foldToolName(name: string): string {
  return name.trim().toLowerCase().replaceAll("-", "_");
}
