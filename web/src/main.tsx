/** The first thing that runs: the address, the look, then the page. */
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app/App";
import { startRouting } from "./app/router";
import { startVisit } from "./auth/token";
import { language } from "./i18n";
import { vouchForStyles } from "./ui/nonce";
import { startTheme } from "./ui/theme";
import { welcomed } from "./welcome/welcomed";
import "./ui/tokens.css";
import "./ui/base.css";

vouchForStyles();
startVisit();
startTheme();
// Whoever comes for the first time, and for nothing in particular, is told what there is.
if (location.pathname === "/" && !welcomed.get()) history.replaceState(null, "", "/welcome");
startRouting();

const follow = () => (document.documentElement.lang = language.get() === "zh" ? "zh-CN" : "en");
language.subscribe(follow);
follow();

const root = document.getElementById("root");
if (root !== null) {
  createRoot(root).render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
}
