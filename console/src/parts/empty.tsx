import type { LucideIcon } from "lucide-react";
import type { ReactNode } from "react";

interface EmptyProps {
  icon: LucideIcon;
  title: string;
  lead?: string;
  /** It stands on the page alone, not in a panel. */
  isPanel?: boolean;
  children?: ReactNode;
}

/** The empty state: what will be here, and how to get it. */
export function Empty({ icon: Icon, title, lead, isPanel = false, children }: EmptyProps) {
  return (
    <div className={isPanel ? "panel stack empty" : "stack empty"}>
      <Icon size={30} strokeWidth={1.5} aria-hidden />
      <h2>{title}</h2>
      {lead === undefined ? null : <p>{lead}</p>}
      {children}
    </div>
  );
}
