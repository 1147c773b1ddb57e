import { Check, Copy } from "lucide-react";
import { useState } from "react";
import { defineWords, useWords } from "../language.tsx";
import { Button } from "./button.tsx";

const words = defineWords({ copy: ["Copy", "复制"], copied: ["Copied", "已复制"] });

export function CopyButton({ text, label }: { text: string; label?: string }) {
  const w = useWords(words);
  const [copied, setCopied] = useState(false);
  const Icon = copied ? Check : Copy;
  return (
    <Button
      look="plain small"
      icon={Icon}
      onClick={() =>
        void navigator.clipboard.writeText(text).then(() => {
          setCopied(true);
          setTimeout(() => setCopied(false), 1500);
        })
      }
    >
      {copied ? w.copied : (label ?? w.copy)}
    </Button>
  );
}
