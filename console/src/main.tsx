import { QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { Router } from "wouter";
import { queries } from "./api.ts";
import { App } from "./app.tsx";
import { useHashLocation, useHashSearch } from "./hash-location.ts";
import { LanguageProvider } from "./language.tsx";
import { repairBrowserLocale } from "./parts/format.ts";
import "./style.css";

repairBrowserLocale();
createRoot(document.getElementById("root")!).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <LanguageProvider>
        <Router hook={useHashLocation} searchHook={useHashSearch}>
          <App />
        </Router>
      </LanguageProvider>
    </QueryClientProvider>
  </StrictMode>,
);
