// The dashboard's own script: follows runs, keeps what is shown fresh, and makes the keyboard work.
"use strict";

const page = document.body.dataset;
const one = (selector, within = document) => within.querySelector(selector);
const all = (selector, within = document) => [...within.querySelectorAll(selector)];

/* What changes is asked for at most four times a second, and one request at a time. */
const PAUSE = 250;
const POLL = 2000;
const TAIL = 12, LONGEST = 4000;
let asking = false, wanted = false, timer = 0;

const GONE = one("#offline")?.textContent;
function offline(is, why = GONE) {
  const banner = one("#offline");
  if (!banner) return;
  if (is && banner.textContent !== why) banner.textContent = why;
  if (banner.hidden === is) banner.hidden = !is;
}

function refresh() {
  wanted = true;
  if (!timer && !asking) timer = setTimeout(ask, PAUSE);
}

async function ask() {
  timer = 0;
  wanted = false;
  asking = true;
  try {
    await fetched();
  } catch {
    // The banner says that the server is not there; whoever follows or polls asks again.
  } finally {
    asking = false;
    if (wanted) refresh();
  }
}

function fetched() {
  const query = location.search;
  if (page.page === "run") {
    // What is shown as a board stays one when the run ends, until the reader chooses.
    const asked = new URLSearchParams(query);
    if (!asked.has("view")) asked.set("view", page.view);
    return htmx.ajax("GET", `/runs/${page.run}/parts?${asked}`, { source: document.body, swap: "none" });
  }
  if (page.page === "item") return htmx.ajax("GET", location.pathname, { source: document.body, target: "#main", select: "#main", swap: "morph:outerHTML" });
  return htmx.ajax("GET", `/runs${query}`, { source: document.body, target: "#runs", swap: "morph:outerHTML" });
}

/* A part that is the same is not sent again: it stays, with what was typed into it, what is open in it, and where it was scrolled to. */
document.addEventListener("htmx:configRequest", (event) => {
  const parts = all("[data-mark]").map((each) => `${each.id}:${each.dataset.mark}`);
  if (parts.length) event.detail.headers["X-Parts"] = parts.join(" ");
});
document.addEventListener("htmx:sendError", () => offline(true));
document.addEventListener("htmx:afterRequest", ({ detail }) => {
  const status = detail.xhr?.status;
  // Who is not signed in any more is sent elsewhere.
  if (status && status !== 401) offline(status >= 400, `The server does not show this any more (${status}). This page shows what was last heard.`);
});
for (const name of ["htmx:oobAfterSwap", "htmx:afterSwap"]) document.addEventListener(name, () => { local(); tick(); bottoms(); tabs(); });

/* Opened details, a chosen tab and what somebody is typing are the reader's own: the server does not know of them. */
const typed = (node) => node.matches?.("input, textarea") && (node.value !== node.defaultValue || node.checked !== node.defaultChecked);
const opened = (name, node) => name === "open" && node.matches("details, dialog");
if (window.Idiomorph) {
  Object.assign(Idiomorph.defaults.callbacks, {
    beforeNodeMorphed: (old) => !typed(old),
    beforeAttributeUpdated: (name, node) => !opened(name, node) && name !== "data-tab" && name !== "aria-current",
  });
}

/* How many items are ticked; a group's box stands for all of its items. */
document.addEventListener("change", (event) => {
  const form = event.target.closest?.("[data-ticked]");
  if (!form || event.target.type !== "checkbox") return;
  if (event.target.name === "group") for (const each of all("[name=item]", event.target.closest(".group"))) each.checked = event.target.checked;
  else { const group = one("[name=group]", event.target.closest(".group")); if (group) group.checked = false; }
  const whole = all("[name=group]:checked", form), single = all("[name=item]:checked", form).filter((each) => !one("[name=group]:checked", each.closest(".group")));
  const count = single.length + whole.reduce((sum, each) => sum + parseInt(each.value, 10), 0);
  one("[data-ticked-count]", form).textContent = count === 1 ? "1 item is ticked." : `${count} items are ticked.`;
});

/* On a narrow screen one column at a time. */
const narrow = matchMedia("(max-width: 720px)");
function tabs() {
  const board = one("[data-board]"), links = all("[data-tab-of]");
  if (!board || !links.length) return;
  const known = links.some((each) => each.dataset.tabOf === board.dataset.tab);
  if (!narrow.matches) delete board.dataset.tab;
  else if (!known) board.dataset.tab = links[0].dataset.tabOf;
  for (const each of links) each.setAttribute("aria-current", String(each.dataset.tabOf === board.dataset.tab));
}
narrow.addEventListener("change", tabs);
document.addEventListener("click", (event) => {
  const link = event.target.closest("[data-tab-of]");
  if (!link || !narrow.matches) return;
  event.preventDefault();
  one("[data-board]").dataset.tab = link.dataset.tabOf;
  tabs();
});

/* Time that passes. */
function spelled(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  if (whole < 60) return `${whole} s`;
  const minutes = Math.floor(whole / 60);
  const two = (number) => String(number).padStart(2, "0");
  return minutes < 60 ? `${minutes} min ${two(whole % 60)} s` : `${Math.floor(minutes / 60)} h ${two(minutes % 60)} min`;
}
/* Times as the reader's clock has them; the server's are in the title. */
const LOCAL = { time: { timeStyle: "medium", hour12: false }, date: { dateStyle: "medium", timeStyle: "short", hour12: false } };
function local() {
  for (const each of all("time[data-local]")) {
    const said = new Intl.DateTimeFormat(undefined, LOCAL[each.dataset.local]).format(new Date(each.dateTime));
    if (each.textContent !== said) each.textContent = said;
  }
}
function tick() {
  for (const each of all("[data-since]")) each.textContent = spelled(Date.now() / 1000 - Number(each.dataset.since));
}

/* What agents say, as text and nothing else, each piece on lines of its own; the server has the last, and what comes after is added.
   It is written down as often as the rest of the page, however much is said. */
const spoken = new Map();
let speaking = 0;
function heard({ number, label, text }) {
  spoken.set(label, [...(spoken.get(label) ?? []).slice(1 - TAIL), { number, text }]);
  speaking ||= setTimeout(speak, PAUSE);
}
function speak() {
  speaking = 0;
  for (const [label, said] of spoken) {
    const talk = all("[data-label]").find((each) => each.dataset.label === label);
    const fresh = said.filter(({ number }) => number > Number(talk?.dataset.said ?? 0));
    if (!talk) refresh();
    if (!talk || !fresh.length) continue;
    talk.dataset.said = fresh.at(-1).number;
    const lines = [...talk.textContent.split("\n"), ...fresh.flatMap(({ text }) => text.trimEnd().split("\n"))];
    talk.textContent = lines.slice(-TAIL).join("\n").slice(-LONGEST);
  }
  spoken.clear();
  bottoms();
}
function bottoms() {
  for (const each of all(".talk")) if (document.activeElement !== each) each.scrollTop = each.scrollHeight;
}

/* A browser keeps few connections to one server: a page that nobody looks at lets go of its own. */
let source = null;
function follow() {
  if (source || document.hidden) return;
  const mine = source = new EventSource(`/runs/${page.run}/live?after=${page.seq}`);
  let lost = false;
  // Who comes back asks anew: a server that was killed has left runs of which no event tells.
  mine.addEventListener("open", () => { offline(false); if (lost) refresh(); lost = false; });
  mine.addEventListener("entry", (event) => { page.seq = event.lastEventId; refresh(); });
  mine.addEventListener("flight", refresh);
  mine.addEventListener("agent", (event) => heard(JSON.parse(event.data)));
  mine.addEventListener("end", () => { leave(); refresh(); });
  mine.addEventListener("error", () => {
    lost = true;
    if (mine.readyState !== EventSource.CLOSED) return offline(true);
    // For good: the run has ended, or nobody is signed in any more. What the page asks for next tells which.
    leave();
    refresh();
    setTimeout(() => { if (!one("[data-ended]")) follow(); }, POLL);
  });
}
function leave() {
  source?.close();
  source = null;
}

if (page.live === "yes") {
  follow();
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) return leave();
    refresh();
    if (!one("[data-ended]")) follow();
  });
  // A process that was killed tells nobody.
  setInterval(() => { if (!document.hidden && !one("[data-ended]")) refresh(); }, 5 * POLL);
}
if (page.page === "home") setInterval(() => { if (!document.hidden) refresh(); }, POLL);
setInterval(tick, 1000);

/* Forms. */
document.addEventListener("submit", (event) => {
  const question = event.target.dataset && event.target.dataset.confirm;
  if (question && !confirm(question)) return event.preventDefault();
  // A second click on the way would ask for the same again.
  if (event.target.dataset.sent) return event.preventDefault();
  if (event.target.method === "post") event.target.dataset.sent = "yes";
  setTimeout(() => { delete event.target.dataset.sent; }, POLL);
});
one("[data-largest]")?.addEventListener("change", ({ target }) => {
  const size = [...target.files].reduce((sum, file) => sum + file.size, 0);
  target.setCustomValidity(size > Number(target.dataset.largest) ? "Together these files are too large: 7.5 MB at most." : "");
  target.reportValidity();
});
const once = one("form[data-submit]");
if (once) once.submit();
if (one("form[data-session]") && performance.getEntriesByType("navigation")[0]?.type !== "reload") {
  // A link from elsewhere came without the cookie; a page of ours brings it.
  const next = one("form[data-session] input[name=next]").value;
  fetch("/session").then((answer) => { if (answer.headers.get("x-signed-in") === "yes") location.replace(next); }, () => {});
}

/* A menu closes when one goes elsewhere. */
for (const name of ["click", "focusin", "keydown"]) {
  document.addEventListener(name, (event) => {
    if (name === "keydown" && event.key !== "Escape") return;
    for (const menu of all("details.menu[open]")) if (name === "keydown" || !menu.contains(event.target)) menu.open = false;
  });
}

/* Light or dark. */
one("#theme")?.addEventListener("click", () => {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  try { localStorage.setItem("punchlist-theme", root.dataset.theme); } catch { /* it lasts until the page goes */ }
});

/* The keyboard. */
const help = one("#help");
one("#keys")?.addEventListener("click", () => help.showModal());
let before = "";
const KEYS = {
  "/": () => { const box = one("[data-search]"); if (box) { box.focus(); box.select(); } },
  "?": () => help.showModal(),
  j: () => move(1),
  k: () => move(-1),
  l: () => sideways(1),
  h: () => sideways(-1),
  u: () => { const up = one("[data-up]"); if (up) up.click(); },
};
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || help?.open) return;
  if (event.key === "Escape" && event.target.matches("[data-search]")) return event.target.blur();
  if (event.target.matches("input, textarea, select, [contenteditable]")) return;
  const action = before === "g" && event.key === "r" ? () => { location.href = "/"; } : KEYS[event.key];
  before = event.key;
  if (action) { event.preventDefault(); action(); }
});
function shownMoves(within = document) {
  return all("[data-move]", within).filter((each) => each.offsetParent !== null);
}
function move(by) {
  const column = document.activeElement.closest?.("[data-column]");
  const moves = shownMoves(column ?? document);
  if (!moves.length) return one(by > 0 ? "a[rel=next]" : "a[rel=prev]")?.click();
  const next = moves[moves.indexOf(document.activeElement) + by] ?? (moves.includes(document.activeElement) ? null : moves[0]);
  next?.focus();
}
function sideways(by) {
  const columns = all("[data-column]").filter((each) => shownMoves(each).length);
  const now = columns.indexOf(document.activeElement.closest?.("[data-column]"));
  const next = columns[now + by] ?? (now < 0 ? columns[0] : null);
  if (next) shownMoves(next)[0].focus();
}
local();
tick();
bottoms();
tabs();
