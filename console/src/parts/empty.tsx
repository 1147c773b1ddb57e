import type { LucideIcon } from "lucide-react";
import type { ReactNode } from "react";

/** Says what will be here, and what to do so that something is. */
export function Empty({ icon: Icon, title, children }: { icon: LucideIcon; title: string; children?: ReactNode }) {
  return (
    <div className="empty">
      <Icon size={30} strokeWidth={1.5} aria-hidden />
      <h2>{title}</h2>
      {children}
    </div>
  );
}
