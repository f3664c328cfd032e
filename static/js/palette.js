// Palette: search over all pages by the server; recent pages and sections before anything is typed.
(() => {
  "use strict";
  const TYPING_MS = 120;
  const MOST_RECENT = 8;
  const RECENT = "recent-pages";

  const palette = document.getElementById("palette");
  if (!palette) return;
  const field = document.getElementById("palette-words");
  const list = document.getElementById("palette-list");
  let timer = 0;
  let turn = 0;
  let shownFor = null;

  // Of one person: another one at this browser starts with none.
  function recent() {
    try {
      const kept = JSON.parse(localStorage.getItem(RECENT));
      return kept?.user === palette.dataset.user ? kept.pages : [];
    } catch {
      return [];
    }
  }

  function remember() {
    if (document.querySelector(".error-page")) return;
    const label = document.title.replace(/ · crosslog$/, "");
    const here = { kind: "recent", label, path: location.pathname, detail: "" };
    const pages = [here, ...recent().filter((each) => each.path !== here.path)].slice(0, MOST_RECENT);
    try {
      localStorage.setItem(RECENT, JSON.stringify({ user: palette.dataset.user, pages }));
    } catch { /* Without storage there are no recent pages. */ }
  }

  const sections = () => [...document.querySelectorAll("#rail-places a")].map((link) => ({
    kind: "page",
    label: link.firstChild.textContent.trim(),
    path: link.getAttribute("href"),
    detail: "",
  }));

  // In the range of this page, as the server carries it on; from and to of a run are its own.
  function inRange(page) {
    const range = new URL(field.dataset.src, location.href).search;
    return page.path.startsWith("/runs/") ? page : { ...page, path: page.path + range };
  }

  function atFirst() {
    const pages = recent().filter((each) => each.path !== location.pathname).map(inRange);
    return [...pages, ...sections().filter((each) => !pages.some((page) => page.path === each.path))];
  }

  function piece(className, text) {
    const span = document.createElement("span");
    span.className = className;
    span.textContent = text;
    return span;
  }

  function item(hit, index) {
    const entry = document.createElement("li");
    entry.id = `palette-${index}`;
    entry.role = "option";
    entry.dataset.path = hit.path;
    entry.append(piece("palette__kind", hit.kind), piece("palette__label", hit.label), piece("palette__detail", hit.detail));
    return entry;
  }

  function choose(entry) {
    for (const each of list.children) each.setAttribute("aria-selected", String(each === entry));
    field.setAttribute("aria-activedescendant", entry?.id ?? "");
    entry?.scrollIntoView({ block: "nearest" });
  }

  const entries = () => [...list.querySelectorAll("li")];
  const chosen = () => entries().findIndex((entry) => entry.getAttribute("aria-selected") === "true");

  function show(text, hits, otherwise = "No results") {
    shownFor = text;
    list.replaceChildren(...hits.map(item));
    if (!hits.length) list.append(piece("palette__kind", otherwise));
    choose(entries()[0]);
  }

  async function search() {
    clearTimeout(timer);
    const text = field.value.trim();
    const mine = ++turn;
    if (!text) { show(text, atFirst()); return; }
    const address = new URL(field.dataset.src, location.href);
    address.searchParams.set("q", text);
    address.searchParams.set("at", location.pathname);
    const answer = await fetch(address, { headers: { Accept: "application/json" } }).catch(() => null);
    const hits = answer?.ok && !answer.redirected ? (await answer.json()).hits : null;
    if (mine !== turn) return;
    show(text, hits ?? [], hits ? "No results" : "The server did not answer.");
  }

  function open(path) {
    if (!path?.startsWith("#")) { if (path) location.assign(path); return; }
    palette.close();
    // After this click: a click elsewhere closes an open menu.
    setTimeout(() => {
      const menu = document.querySelector(path);
      menu.open = true;
      menu.querySelector("button").focus();
    });
  }

  function move(step) {
    const all = entries();
    choose(all[(chosen() + step + all.length) % all.length]);
  }

  field.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(search, TYPING_MS);
  });
  field.addEventListener("keydown", async (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) { event.preventDefault(); move(step); }
    if (event.key !== "Enter") return;
    event.preventDefault();
    // The list may still be that of fewer letters.
    if (shownFor !== field.value.trim()) await search();
    open(entries()[chosen()]?.dataset.path);
  });
  list.addEventListener("click", (event) => open(event.target.closest("li")?.dataset.path));
  new MutationObserver(() => {
    if (!palette.open) return;
    field.value = "";
    search();
    field.focus();
  }).observe(palette, { attributes: true, attributeFilter: ["open"] });
  document.getElementById("sign-out")?.addEventListener("submit", () => localStorage.removeItem(RECENT));
  remember();
})();
