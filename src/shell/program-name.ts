/** `/usr/bin/RG.exe` and `rg` are one program to rules that name programs. */
export function normalizeProgramName(program: string): string {
  const parts = program.split(/[\\/]/).filter(Boolean);
  return (parts.at(-1) ?? "").toLowerCase().replace(/\.(?:exe|cmd|bat|com)$/, "");
}
