import type { LucideIcon } from "lucide-react";
import type { ReactNode } from "react";

/** The empty state: what will be here, and how to get it. */
export function Empty({ icon: Icon, title, children }: { icon: LucideIcon; title: string; children?: ReactNode }) {
  return (
    <div className="stack empty">
      <Icon size={30} strokeWidth={1.5} aria-hidden />
      <h2>{title}</h2>
      {children}
    </div>
  );
}
