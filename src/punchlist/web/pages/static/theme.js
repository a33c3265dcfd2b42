// Before anything is painted: the theme that was chosen on this browser, if one was.
"use strict";
const chosen = (() => { try { return localStorage.getItem("punchlist-theme"); } catch { return null; } })();
if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
