import { ArrowRight } from "lucide-react";
import { Link } from "wouter";
import { defineWords, useWords } from "../../language.tsx";
import { useFirstRun } from "./first-run.ts";

const words = defineWords({ next: ["Next step", "下一步"] });

/** Leads back to the first steps while they are not finished. */
export function NextStep() {
  const w = useWords(words);
  return useFirstRun() === true ? (
    <p>
      <Link className="button primary" href="/welcome">
        {w.next} <ArrowRight size={15} aria-hidden />
      </Link>
    </p>
  ) : null;
}
